"""Models of replies of the agent server that are parsed only by the app server. The models that both programs
share are in `agent_runtime.wire`.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from agent_runtime.wire import BashCommand, BashOutput


class BashCommands(BaseModel):
    """The agent server's reply to a search for commands: shell commands that clients have started in the
    sandbox.
    """

    items: list[BashCommand]


class BashOutputs(BaseModel):
    """The agent server's reply to a search for the output of one shell command: a list of pieces of the
    output.
    """

    items: list[BashOutput]


class GitChange(BaseModel):
    """One changed file of a git repository. The path is relative to the repository's root."""

    status: Literal["ADDED", "UPDATED", "DELETED", "MOVED"]
    path: str


class GitDiff(BaseModel):
    """The content of one changed file before the change (`original`) and after the change (`modified`).
    `original` is None for a new file, `modified` is None for a deleted file.
    """

    original: str | None = None
    modified: str | None = None


class EventPage(BaseModel):
    """A page of a conversation's events. `next_page_id`: the value with which the client requests the next
    page; null on the last page.
    """

    items: list[dict[str, Any]]
    next_page_id: str | None = None


class AgentServerInfo(BaseModel):
    """What the agent server says about itself. Contains only the fields that the app server reads."""

    usable_tools: list[str] = []


class IdleTime(BaseModel):
    """The reply that says for how many seconds no agent has been working in the sandbox."""

    idle_time: float = Field(ge=0, allow_inf_nan=False)


class BrowserTab(BaseModel):
    """One open tab of the agent's browser. The tab's title is untrusted text."""

    url: str = Field(max_length=2_000)
    title: str = Field(max_length=1_000)
    is_current: bool


class BrowserView(BaseModel):
    """The state of the agent's browser when the request was made: its tabs and a picture of the current page.

    image_url: the picture as a JPEG in a `data:` URL; null if no picture could be made.
    """

    is_open: bool
    pages: list[BrowserTab] = Field(max_length=100)
    image_url: str | None = Field(max_length=1_000_000, pattern=r"^data:image/jpeg;base64,[A-Za-z0-9+/=]*$")
