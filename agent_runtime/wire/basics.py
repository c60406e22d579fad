"""What says no more than that it was done, and how callers show who they are."""

from pydantic import BaseModel, Field, SecretStr

API_KEY_HEADER = "X-Session-API-Key"
INIT_KEY_HEADER = "X-Init-API-Key"


class Success(BaseModel):
    success: bool = True


class ReplaceSessionKeyRequest(BaseModel):
    """expires_in_seconds: for how long the key opens, unless it is sent again; None: without end."""

    session_api_key: SecretStr = Field(min_length=16, max_length=1000)
    expires_in_seconds: float | None = Field(default=None, gt=0)
