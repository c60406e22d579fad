"""The reply of routes that return no data, the names of the headers that carry keys, and the body of the
request that replaces a session key.
"""

from pydantic import BaseModel, Field, SecretStr

API_KEY_HEADER = "X-Session-API-Key"
GIT_RELAY_HEADER = "X-Slipway-Git-Outlet"
"""The header that tells the app server the URL at which git commands in the sandbox reach the agent server's
git relay (the part that forwards git's requests to the app server).
"""
PROGRAM_KEY_HEADER = "X-Slipway-Program-Key"
"""The header in which the agent server's git relay (the part that forwards git's requests) sends the key of a
program in the sandbox to the app server. The program makes its model calls with the same key.
"""
INIT_KEY_HEADER = "X-Init-API-Key"


class Success(BaseModel):
    success: bool = True


class ReplaceSessionKeyRequest(BaseModel):
    """The request body of POST /api/session_key: the new session key of the agent server, which clients must
    send with each request.

    `expires_in_seconds`: after this time, the key is no longer valid, unless the app server sends this
    request again; null means that the key never expires.
    """

    session_api_key: SecretStr = Field(min_length=16, max_length=1000)
    expires_in_seconds: float | None = Field(default=None, gt=0)
