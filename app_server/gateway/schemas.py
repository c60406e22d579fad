"""The API's models of ports of sandboxes and of links to them."""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from agent_runtime.wire import ListeningPort
from app_server.core.database import Id, Timestamp

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
"""Maps a port to its runtime plugin. The gateway starts the plugin when a link to the port is opened."""

DEFAULT_SECONDS = 12 * 3600
MAX_SECONDS = 7 * 24 * 3600


class CreateLink(BaseModel):
    """A request for a link to a port, by its number or its name. The name `AGENT_SERVER` opens a part of the
    agent server's REST API.

    path: where the link leads on that port. keeps_prefix: true for a program that was told to serve below the
    link's path (`vite --base`): the program gets the whole path. Null: Slipway finds out. It reads the
    program's first page; if that page names the path of an earlier such link to this port, the same link is
    returned again. If ports have host names, keeps_prefix has no effect and the program is not asked.
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
    """A link. Anyone who has `url` can open the port until `expires_at`, without signing in. The link ends
    earlier if its maker signs out or deletes the API key that made it.

    keeps_prefix: the program gets the whole path of `url`.
    """

    url: str
    expires_at: Timestamp
    keeps_prefix: bool


class SandboxPort(ListeningPort):
    """A port on which a process listens. conversation_id: reported by the sandbox, so it may be wrong."""

    conversation_id: Id | None


class SandboxPorts(BaseModel):
    """The listening ports, sorted by port number in ascending order."""

    ports: list[SandboxPort]
