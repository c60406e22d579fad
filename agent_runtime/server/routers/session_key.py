"""The route by which the app server replaces the session key (the key that clients of this server must send)
or extends the time for which the key is valid.
"""

from typing import Annotated

from fastapi import Header, Request

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import API_KEY_HEADER, ReplaceSessionKeyRequest, Success

router = Router(tags=["server"])


@router.post(
    "/api/session_key",
    responses={
        401: {"description": "Neither an accepted key nor the present one"},
        409: {"description": "This server has no keys"},
        503: {"description": "The server is not initialized yet"},
    },
)
async def replace_session_key(
    wanted: ReplaceSessionKeyRequest,
    request: Request,
    key: Annotated[str | None, Header(alias=API_KEY_HEADER)] = None,
) -> Success:
    """Replaces the current session key by the key in the request. The old key stays valid for some seconds.

    The caller must send the current key, which is accepted here even after it has expired. After a successful
    request, the new key is the current key. So a repeated request needs the new key. It then extends the time
    for which this key is valid.
    """
    keys: SessionKeys = request.app.state.session_keys
    if keys.present is None:
        raise ServerProblem(
            409,
            "no_session_key",
            "This server has no session key that can be replaced.",
            "Start it with OH_SESSION_API_KEYS_0.",
        )
    if not keys.may_replace(key):
        raise ServerProblem(
            401,
            "not_authenticated",
            "The session key can be replaced only with the present session key.",
            f"Send it in the header {API_KEY_HEADER}.",
        )
    keys.replace(wanted.session_api_key.get_secret_value(), wanted.expires_in_seconds)
    return Success()
