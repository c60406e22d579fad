"""Links to ports in the API."""

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
"""The gateway starts these when a link to them is opened."""

DEFAULT_SECONDS = 12 * 3600
MAX_SECONDS = 7 * 24 * 3600


class CreateLink(BaseModel):
    """To a port by its number or its name. `AGENT_SERVER`: the REST API of the agent server, in part.

    path: where the link leads there. keeps_prefix: for a program that was told to live below the link's path
    (`vite --base`): it gets the path whole. Null: found out. The first page of the program is asked for; if
    it names the path of such a link to this port, this link is given again. Where ports have host names this
    changes nothing, and nothing is asked.
    """

    name: PortName | None = None
    port: Annotated[int | None, Field(ge=1, le=65_535)] = None
    # One slash, and nothing that a browser would drop or take for one: it must not lead to another host.
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
    """Anyone who has `url` can open the port until `expires_at`, signed in or not, as long as its maker stays
    signed in or keeps the API key it was made with. keeps_prefix: the program gets the path of `url` whole.
    """

    url: str
    expires_at: Timestamp
    keeps_prefix: bool


class SandboxPort(ListeningPort):
    """conversation_id: as its sandbox says, which may say anything."""

    conversation_id: Id | None


class SandboxPorts(BaseModel):
    """By port, ascending."""

    ports: list[SandboxPort]
