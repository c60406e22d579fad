"""Checks that a caller has a valid session key (a key that each client of the agent server must send)."""

from typing import Annotated, Any

import orjson
from fastapi import Header, Request, WebSocket, WebSocketDisconnect

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.time_limits import time_limit
from agent_runtime.wire import API_KEY_HEADER

CLOSE_NOT_AUTHENTICATED = 4001
CLOSE_RESTARTING = 1012
FIRST_FRAME_TIMEOUT_SECONDS = 10


async def require_key(
    request: Request, key: Annotated[str | None, Header(alias=API_KEY_HEADER)] = None
) -> None:
    """Checks the session key (the key that a client must send) of a request. Refuses the request with status
    401 if the key is not valid. This function is a FastAPI dependency of routes.
    """
    keys: SessionKeys = request.app.state.session_keys
    match keys.judge(key):
        case "expired":
            raise ServerProblem(
                401,
                "session_key_expired",
                "This session key has expired.",
                "The app server renews it: POST /api/session_key.",
            )
        case "wrong":
            raise ServerProblem(
                401,
                "not_authenticated",
                "This server needs a session key.",
                f"Send it in the header {API_KEY_HEADER}.",
            )


async def require_bearer(
    request: Request,
    authorization: Annotated[str | None, Header()] = None,
    key: Annotated[str | None, Header(alias=API_KEY_HEADER)] = None,
) -> None:
    """Checks the session key (the key that a client must send) of a request as `require_key` does. The
    function also accepts the key as a bearer token, because OpenAI clients send the key in this form.
    """
    scheme, _, token = (authorization or "").partition(" ")
    await require_key(request, token.strip() if scheme.lower() == "bearer" else key)


async def accept_socket(socket: WebSocket) -> bool:
    """Accepts a WebSocket and checks its session key, which the client sends in the query, in a header or in
    the first message. Returns True if the key is valid.

    Returns False and closes the socket if the key is wrong or does not arrive in time.
    """
    keys: SessionKeys = socket.app.state.session_keys
    await socket.accept()
    given = socket.query_params.get("session_api_key") or socket.headers.get(API_KEY_HEADER)
    if given is None and keys.present is not None:
        given = await _key_in_first_frame(socket)
    if keys.judge(given) == "accepted":
        return True
    await socket.close(CLOSE_NOT_AUTHENTICATED, "Authentication failed")
    return False


def is_auth_frame(frame: Any) -> bool:
    return isinstance(frame, dict) and frame.get("type") == "auth"


async def _key_in_first_frame(socket: WebSocket) -> str | None:
    try:
        async with time_limit(FIRST_FRAME_TIMEOUT_SECONDS):
            frame = orjson.loads(await socket.receive_text())
    except (TimeoutError, orjson.JSONDecodeError, WebSocketDisconnect, KeyError):
        return None
    key = frame.get("session_api_key") if is_auth_frame(frame) else None
    return key if isinstance(key, str) else None
