"""Schemas of the requests and replies about ports of sandboxes and links to these ports."""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from agent_runtime.wire import ListeningPort
from app_server.core.database import Id, Timestamp
from app_server.http.strict_body import StrictBody

PortName = Literal["AGENT_SERVER", "VSCODE", "DESKTOP", "WORKER_1", "WORKER_2"]
AGENT_SERVER: Final[PortName] = "AGENT_SERVER"
NAMED_PORTS: dict[PortName, int] = {
    AGENT_SERVER: 8000,
    "VSCODE": 8001,
    "DESKTOP": 8002,
    "WORKER_1": 8011,
    "WORKER_2": 8012,
}
PLUGINS_OF_PORTS: Final = {NAMED_PORTS["VSCODE"]: "vscode", NAMED_PORTS["DESKTOP"]: "desktop"}
"""Maps the number of a port to the runtime plugin (the web version of VS Code, or the desktop) that uses the
port. The gateway starts the plugin when a user opens a link to the port.
"""

DEFAULT_SECONDS = 12 * 3600
MAX_SECONDS = 7 * 24 * 3600


class CreateLink(StrictBody):
    """A request to create a link to a port of a sandbox (POST /api/v1/sandboxes/{id}/links). It has either
    the number or the name of the port. The link with the name `AGENT_SERVER` opens the part of the agent
    server's REST API that is allowed through links.

    `path`: the path that the link opens on the port. `lifetime_seconds`: for how long the link is valid.

    `keeps_prefix`: true if the program on the port was configured to serve its pages below the link's path
    (`vite --base`). The program then receives the whole path of each request. If false, Slipway removes the
    link's path from each request. If null and the request has the number of the port, Slipway reads the
    program's first page. If this page contains the path of an existing link to this port with `keeps_prefix`,
    that link is returned and no new link is created. Otherwise null has the same effect as false. If each
    port has a separate host name, `keeps_prefix` has no effect and Slipway does not read the page.
    """

    name: PortName | None = None
    port: Annotated[int | None, Field(ge=1, le=65_535)] = None
    # One slash, and no character that a browser ignores or reads as a slash: else it could name another host.
    path: Annotated[str, Field(pattern=r"^/([!-.0-\[\]-~][!-~]*)?$", max_length=2000)] = "/"
    keeps_prefix: bool | None = None
    lifetime_seconds: Annotated[int, Field(ge=1, le=MAX_SECONDS)] = DEFAULT_SECONDS

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.name is None) == (self.port is None):
            raise ValueError("give either a name or a port")
        if self.name == AGENT_SERVER and (self.keeps_prefix or self.path != "/"):
            raise ValueError("path and keeps_prefix do not belong to the agent server's link")
        return self

    @property
    def number(self) -> int:
        return NAMED_PORTS[self.name] if self.name else self.port or 0


class Link(BaseModel):
    """The reply with a link to a port of a sandbox. All people who have `url` can open the port until
    `expires_at`, without signing in. The link becomes invalid before `expires_at` if the user who created it
    signs out or deletes the API key with which the link was created.

    `keeps_prefix`: only for a port without a separate host name. True if the program on the port receives the
    whole path of each request; false if Slipway removes the link's path from it.
    """

    url: str
    expires_at: Timestamp
    keeps_prefix: bool


class SandboxPort(ListeningPort):
    """One port on which a process of the sandbox listens. `conversation_id`: the conversation whose agent has
    started the process; null if this is not known or a person has started it. The value comes from the
    sandbox, so it may be wrong.
    """

    conversation_id: Id | None


class SandboxPorts(BaseModel):
    """The reply with the ports on which processes of the sandbox listen, sorted by port number in ascending
    order.
    """

    ports: list[SandboxPort]
