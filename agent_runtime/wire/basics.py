"""The reply of routes that return no data, the names of the headers that carry keys, and the request body
that replaces a session key.
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
    """The request body of POST /api/session_key: the new session key of the agent server.

    `expires_in_seconds`: how long the new key is valid unless the app server sends this request again; null
    means that the key never expires.
    """

    session_api_key: SecretStr = Field(min_length=16, max_length=1000)
    expires_in_seconds: float | None = Field(default=None, gt=0)
