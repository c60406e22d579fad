"""Answers of an agent server that have no type in `agent_runtime.wire`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from agent_runtime.wire import BashCommand, BashOutput


class BashCommands(BaseModel):
    """Commands that were started."""

    items: list[BashCommand]


class BashOutputs(BaseModel):
    """Output of commands, in pieces."""

    items: list[BashOutput]


class GitChange(BaseModel):
    """One changed path of a repository, relative to its root."""

    status: Literal["ADDED", "UPDATED", "DELETED", "MOVED"]
    path: str


class GitDiff(BaseModel):
    """Both sides of one changed file; None where it does not exist."""

    original: str | None = None
    modified: str | None = None


class EventPage(BaseModel):
    """Events as they stand in a log, and where the next page begins; None after the last one."""

    items: list[dict[str, Any]]
    next_page_id: str | None = None


class AgentServerInfo(BaseModel):
    """The part of its description that is read here."""

    usable_tools: list[str] = []


class IdleTime(BaseModel):
    """In seconds."""

    idle_time: float = Field(ge=0, allow_inf_nan=False)


class BrowserTab(BaseModel):
    """A page of the agent's browser. What it is called was written by others."""

    url: str = Field(max_length=2_000)
    title: str = Field(max_length=1_000)
    is_current: bool


class BrowserView(BaseModel):
    """The agent's browser at one moment. image_url: the current page as a JPEG in a `data:` URL, if it could
    be drawn.
    """

    is_open: bool
    pages: list[BrowserTab] = Field(max_length=100)
    image_url: str | None = Field(max_length=1_000_000, pattern=r"^data:image/jpeg;base64,[A-Za-z0-9+/=]*$")
