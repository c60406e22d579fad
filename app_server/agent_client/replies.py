"""Models of agent server replies that have no type in `agent_runtime.wire`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from agent_runtime.wire import BashCommand, BashOutput


class BashCommands(BaseModel):
    """Commands that were started in the sandbox."""

    items: list[BashCommand]


class BashOutputs(BaseModel):
    """Pieces of the output of commands."""

    items: list[BashOutput]


class GitChange(BaseModel):
    """One changed path of a repository, relative to its root."""

    status: Literal["ADDED", "UPDATED", "DELETED", "MOVED"]
    path: str


class GitDiff(BaseModel):
    """The content of one changed file before and after. None: the file does not exist on that side."""

    original: str | None = None
    modified: str | None = None


class EventPage(BaseModel):
    """A page of events from a log, and the id of the next page (None on the last page)."""

    items: list[dict[str, Any]]
    next_page_id: str | None = None


class AgentServerInfo(BaseModel):
    """The fields that the app server reads from the agent server's description of itself."""

    usable_tools: list[str] = []


class IdleTime(BaseModel):
    """How long the agent server has been idle, in seconds."""

    idle_time: float = Field(ge=0, allow_inf_nan=False)


class BrowserTab(BaseModel):
    """A tab of the agent's browser. Its title is untrusted text."""

    url: str = Field(max_length=2_000)
    title: str = Field(max_length=1_000)
    is_current: bool


class BrowserView(BaseModel):
    """The agent's browser at one moment.

    image_url: the current page as a JPEG in a `data:` URL; it is missing if no picture could be made.
    """

    is_open: bool
    pages: list[BrowserTab] = Field(max_length=100)
    image_url: str | None = Field(max_length=1_000_000, pattern=r"^data:image/jpeg;base64,[A-Za-z0-9+/=]*$")
