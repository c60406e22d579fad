"""The reply of routes that return no data, the headers that carry
keys, and the request for a new session key.
"""

from pydantic import BaseModel, Field, SecretStr

API_KEY_HEADER = "X-Session-API-Key"
GIT_RELAY_HEADER = "X-Slipway-Git-Outlet"
"""Tells the app server at which address git of commands reaches it."""
PROGRAM_KEY_HEADER = "X-Slipway-Program-Key"
"""The header with which the agent server's relay passes on the model key of a program."""
INIT_KEY_HEADER = "X-Init-API-Key"


class Success(BaseModel):
    success: bool = True


class ReplaceSessionKeyRequest(BaseModel):
    """Replaces the session key.

    expires_in_seconds: how long the new key is valid unless the request is sent again; null means without
    end.
    """

    session_api_key: SecretStr = Field(min_length=16, max_length=1000)
    expires_in_seconds: float | None = Field(default=None, gt=0)
