"""Creates and checks the keys with which API clients call agent servers through the gateway. Clients receive
a key as `session_api_key`, together with the address in `conversation_url`.

The address of an agent server gives no access without a key. A key is bound to one sandbox, and to the API
key or browser session for which it was made. The key for a conversation is also bound to that conversation.
Clients never get the session key of the sandbox, which is a different key. This module does no I/O.
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from starlette.requests import HTTPConnection

from agent_runtime.wire import API_KEY_HEADER
from app_server.access.credentials_in_use import Credential
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, NotAuthenticated
from app_server.gateway import links
from app_server.gateway.links import PreviewGrant
from app_server.gateway.preview_origins import Below, PreviewLocation
from app_server.gateway.schemas import AGENT_SERVER, DEFAULT_SECONDS, NAMED_PORTS

KEY_PARAMETER: Final = "session_api_key"
OPEN_PATHS: Final = ("/alive", "/health")
"""Paths at which the gateway itself replies to requests without a key. API clients call these paths to check
whether the agent server runs.
"""

_PREFIX = "agent-"
_ADDRESS = re.compile(rf"{_PREFIX}([0-9a-f]{{32}})")


def address_of(sandbox_id: UUID) -> str:
    """Returns the part of the URL of an agent server that names the sandbox: `agent-` and the id of the
    sandbox. In the URL of a link to a port, the token of the link is at the same place.
    """
    return f"{_PREFIX}{sandbox_id.hex}"


def sandbox_of(token: str) -> UUID | None:
    """Returns the id of the sandbox that `token` names. `token`: the part of a URL that is either `agent-`
    with the id of a sandbox, or the token of a link. Returns None for the token of a link.
    """
    found = _ADDRESS.fullmatch(token)
    return UUID(found[1]) if found else None


def make(
    cipher: Cipher,
    sandbox_id: UUID,
    made_by: Credential,
    moment: datetime,
    conversation_id: UUID | None = None,
) -> str:
    """Returns a key for the sandbox's agent server. The key is valid for 11 to 12 hours: it expires at a full
    hour, so that all calls within the same hour return the same key. Pages that ask repeatedly then do not
    get a new key each time.

    `made_by`: the API key or browser session for which the key is made. `moment`: the current time.
    `conversation_id`: the only conversation that the key gives access to; the key becomes invalid when this
    conversation is deleted. None means that the key gives access to all conversations in the sandbox.
    """
    expires_at = (moment + timedelta(seconds=DEFAULT_SECONDS)).replace(minute=0, second=0, microsecond=0)
    grant = PreviewGrant(
        sandbox_id=sandbox_id,
        port=NAMED_PORTS[AGENT_SERVER],
        path="/",
        keeps_prefix=False,
        expires_at=expires_at,
        made_by=made_by,
        to_agent_server=True,
        conversation_id=conversation_id,
    )
    return links.sign(cipher, grant)


def read(cipher: Cipher, connection: HTTPConnection, sandbox_id: UUID) -> PreviewGrant:
    """Checks the key in a request and returns the access that the key gives. The key is in the header
    `X-Session-API-Key` or, for a WebSocket, in the parameter `session_api_key`. Raises NotAuthenticated
    `session_key_missing` if there is no key. Raises NotAuthenticated `session_key_invalid` if the key is
    not valid or is for another sandbox.
    """
    key = connection.headers.get(API_KEY_HEADER) or connection.query_params.get(KEY_PARAMETER)
    if not key:
        raise NotAuthenticated(
            f"The agent server is open to requests with a key in {API_KEY_HEADER}.",
            code="session_key_missing",
            fix="Send session_api_key of the conversation or of the sandbox.",
        )
    try:
        grant = links.read(cipher, key)
    except AppError:
        raise ended() from None
    if grant.sandbox_id != sandbox_id or not grant.to_agent_server:
        raise ended()
    return replace(grant, is_key=True)


def asks_for_health(connection: HTTPConnection, location: PreviewLocation) -> UUID | None:
    """Tests whether a request is a health check of an agent server without a key, which the gateway itself
    answers. Returns the id of the sandbox if it is, and None for all other requests. `location`: the address
    of the request.
    """
    if (
        not isinstance(location, Below)
        or location.path not in OPEN_PATHS
        or connection.scope["method"] != "GET"
    ):
        return None
    return None if API_KEY_HEADER in connection.headers else sandbox_of(location.token)


def ended() -> NotAuthenticated:
    return NotAuthenticated(
        "This key is not valid for this agent server, or has expired.",
        code="session_key_invalid",
        fix="Read the conversation or the sandbox again: its session_api_key is a valid one.",
    )
