"""Decides which requests to an agent server the gateway allows, and sets the headers of these requests. The
gateway is the way from browsers and API clients to sandboxes. This module does no I/O.

Through the gateway, a client can read the data of the agent server, and can request most of its actions. But
the app server must also store the result of some actions: for example, the creation, deletion or import of a
conversation, or the change of a secret or a model. Clients must request these actions from the app server,
and the gateway refuses them. Otherwise the data of the app server would be wrong.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from agent_runtime.relay.target import Header, without
from agent_runtime.wire import API_KEY_HEADER
from app_server.core.errors import Forbidden

_CONVERSATION = r"/api/conversations/[0-9a-fA-F-]{32,36}"
_NAMED = re.compile(
    r"/(?:api/conversations|sockets/events|sockets/session|api/file/download-trajectory)/(?P<id>[0-9a-fA-F-]{32,36})(/.*)?"
)
_START_PLUGIN: Final = r"/api/runtime-plugins/(?P<plugin>vscode|desktop)/start"
_READ: Final = "|".join(
    (
        r"/|/health|/alive|/ready|/server_info",
        r"/api/conversations(/search|/count)?",
        rf"{_CONVERSATION}(/agent_final_response|/browser|/checkpoints(/[\w-]+/diff)?|/skills)?",
        rf"{_CONVERSATION}/events(/search|/count|/[\w-]+)?",
        r"/api/bash/bash_events/(search|[\w-]+)?",
        r"/api/file/(search_subdirs|entries|home|download|archive)|/api/file/download-trajectory/[\w-]+",
        r"/api/git/(changes|commits|commits/\w+/changes|diff)",
        r"/api/(ports|runtime-plugins|tools/|tools/catalog|vscode/status|desktop/status)",
    )
)
_WRITE: Final = "|".join(
    (
        rf"{_CONVERSATION}/(events|events/respond_to_confirmation|run|pause|interrupt|condense|ask_agent)",
        r"/api/bash/(start_bash_command|execute_bash_command|bash_commands/[\w-]+/stop)",
        r"/api/file/(upload|create_directory)",
        _START_PLUGIN,
    )
)
_SOCKETS: Final = r"/sockets/((events|session)/[0-9a-fA-F-]{32,36}|bash-events)"
_ALLOWED = {
    method: re.compile(pattern)
    for method, pattern in (("GET", _READ), ("HEAD", _READ), ("POST", _WRITE), ("WEBSOCKET", _SOCKETS))
}

_KEY = API_KEY_HEADER.lower().encode()
_KEY_PARAMETER = "session_api_key"
_NOT_PASSED_ON = (_KEY, b"authorization", b"x-expose-secrets")


def require_allowed(method: str, path: str, conversation_id: UUID | None = None) -> None:
    """Checks whether clients may send this request to the agent server with a link or a key. Raises Forbidden
    `not_by_link` if the method and path are not allowed. Raises Forbidden `other_conversation` if the path
    names another conversation than `conversation_id`.

    `path`: the path as the client sent it, before percent-decoding. `conversation_id`: the only conversation
    that the path may name; None means that the path may name any conversation.
    """
    allowed = _ALLOWED.get(method)
    if allowed is None or not allowed.fullmatch(path):
        raise Forbidden(
            f"A link to the agent server does not reach {method} {path}.",
            code="not_by_link",
            fix="Use the API of the app server (/api/v1): it keeps a record of this.",
        )

    named = _NAMED.fullmatch(path)
    if conversation_id and named and named["id"].replace("-", "").lower() != conversation_id.hex:
        raise Forbidden(
            "This key belongs to another conversation.",
            code="other_conversation",
            fix="Send the session_api_key of the conversation in the address.",
        )


def started_plugin(path: str) -> str | None:
    """Returns the name of the runtime plugin (such as VS Code) that a request to this path starts. Returns
    None if a request to this path starts no plugin.
    """
    found = re.fullmatch(_START_PLUGIN, path)
    return found["plugin"] if found else None


def with_key(headers: Iterable[Header], session_key: str) -> list[Header]:
    """Returns the headers of a client's request, changed for the agent server: the sandbox's session key is
    added, and all keys that the client has sent are removed.
    """
    return [*without(list(headers), _NOT_PASSED_ON), (_KEY, session_key.encode())]


def without_key(query: bytes) -> bytes:
    """Returns the query string without the parameter `session_api_key`.

    In the URL of a WebSocket, a key in this parameter would have priority over the key in the header.
    """
    if _KEY_PARAMETER.encode() not in query:
        return query
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    return urlencode([pair for pair in pairs if pair[0] != _KEY_PARAMETER]).encode()
