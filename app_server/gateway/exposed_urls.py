"""Builds the URLs of links to ports of sandboxes, and the list of these links that the API returns with a
sandbox.
"""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Request

from app_server.access.credentials_in_use import Credential
from app_server.core.database import now
from app_server.gateway import agent_keys, links
from app_server.gateway.links import PreviewGrant
from app_server.gateway.preview_origins import OPEN_PATH, has_names, origin_of_port, own_origin, prefix_of
from app_server.gateway.schemas import AGENT_SERVER, DEFAULT_SECONDS, NAMED_PORTS, PLUGINS_OF_PORTS, PortName
from app_server.gateway.separate_host_names import needs_name
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.runtime_plugins import is_offered, path_of
from app_server.sandboxes.schemas import ExposedUrl

_EXPOSED: tuple[PortName, ...] = (AGENT_SERVER, "VSCODE", "WORKER_1", "WORKER_2")


def exposed_urls(
    request: Request, sandbox: Sandbox, made_by: Credential, folder: str | None
) -> list[ExposedUrl]:
    """Returns links to the ports of the sandbox that have a name, one link for each port. Ports that cannot
    be used in this sandbox are left out. The names, such as AGENT_SERVER and VSCODE, are the same as in the
    API of OpenHands, with which this API is compatible.

    Requests to the URL of the agent server need a key (`agent_server_key`). Requests to the other URLs need
    no key. `made_by`: the API key or browser session for which the links are made; the links become invalid
    when this key or session ends. `folder`: the directory that VS Code opens; None means no particular
    directory.
    """
    have_names = has_names(request.state.config, request.headers["host"])
    expires_at = (now() + timedelta(seconds=DEFAULT_SECONDS)).replace(microsecond=0)
    grants = {
        name: PreviewGrant(
            sandbox_id=sandbox.id,
            port=NAMED_PORTS[name],
            path=path_of("vscode", folder) if name == "VSCODE" else "/",
            keeps_prefix=False,
            expires_at=expires_at,
            made_by=made_by,
        )
        for name in _EXPOSED
        if name != AGENT_SERVER and _works(sandbox, NAMED_PORTS[name], have_names)
    }
    address = agent_server_url(request, sandbox.id)
    return [
        ExposedUrl(name=AGENT_SERVER, url=address, port=NAMED_PORTS[AGENT_SERVER]),
        *(
            ExposedUrl(name=name, url=url_of(request, grant), port=grant.port)
            for name, grant in grants.items()
        ),
    ]


def _works(sandbox: Sandbox, port: int, have_names: bool) -> bool:
    plugin = PLUGINS_OF_PORTS.get(port)
    return (have_names or not needs_name(port)) and (plugin is None or is_offered(sandbox, plugin))


def agent_server_url(request: Request, sandbox_id: UUID) -> str:
    """Returns the URL of the sandbox's agent server through the gateway. Requests to this URL need a key."""
    origin = own_origin(request.state.config, request.headers["host"])
    return f"{origin}{prefix_of(agent_keys.address_of(sandbox_id))}"


def agent_server_key(
    request: Request, sandbox_id: UUID, made_by: Credential, conversation_id: UUID | None = None
) -> str:
    """Returns a key for requests to the sandbox's agent server through the gateway. `made_by`: the API key or
    browser session for which the key is made. `conversation_id`: the only conversation that the key gives
    access to; None means all conversations in the sandbox.
    """
    return agent_keys.make(request.state.cipher, sandbox_id, made_by, now(), conversation_id)


def url_of(request: Request, grant: PreviewGrant) -> str:
    """Returns the URL of a link to a port of a sandbox. `grant`: the access that the link gives.

    If ports have separate host names, the URL is at the host name of the port. Otherwise the URL is below a
    path. The URL of a link to an agent server is always below a path, and has no slash at the end, because
    programs append paths to it.
    """
    token = links.sign(request.state.cipher, grant)
    config, asked_at = request.state.config, request.headers["host"]
    below = f"{own_origin(config, asked_at)}{prefix_of(token)}"
    if grant.to_agent_server:
        return below
    origin = origin_of_port(config, grant.sandbox_id, grant.port, asked_at)
    return f"{below}{grant.path}" if origin is None else f"{origin}{OPEN_PATH}?{urlencode({'token': token})}"
