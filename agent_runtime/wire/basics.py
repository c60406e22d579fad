"""What says no more than that it was done, and how callers show who they are."""

from pydantic import (
    BaseModel,
)

API_KEY_HEADER = "X-Session-API-Key"


class Success(BaseModel):
    success: bool = True
