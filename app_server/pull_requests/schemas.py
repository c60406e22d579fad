"""Schemas of requests and replies about the pull requests of a conversation."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from app_server.core.database import Id, Timestamp
from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import Check, Mergeability, PullRequestState, Review, Title
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.screenshots import MAX_SCREENSHOTS

MAX_BODY_CHARACTERS = 60_000

BranchName = Annotated[
    str, Field(min_length=1, max_length=255, pattern=r"^[^\s~^:?*\[\\\x00-\x1f-][^\s~^:?*\[\\\x00-\x1f]*$")
]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=20)]


class PullRequestInfo(BaseModel):
    """A pull request of the conversation, as its host last described it. `problem`: why the host could not be
    asked the last time; then the other fields are older.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    git_provider: GitProvider
    repository: str
    number: int
    url: str
    title: str
    state: PullRequestState
    is_draft: bool
    head: str
    base: str
    head_commit: str | None
    mergeability: Mergeability
    checks: list[Check]
    reviews: list[Review]
    unresolved_threads: int
    is_review_being_addressed: bool
    problem: str | None
    created_at: Timestamp
    refreshed_at: Timestamp

    @classmethod
    def of(cls, row: ConversationPullRequest) -> Self:
        same = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        return cls.model_validate(
            {
                **same,
                "git_provider": row.provider,
                "is_review_being_addressed": bool(row.asked_threads),
            }
        )


class ProposedScreenshot(BaseModel):
    """A screenshot that the agent took after its last edit. id: of its event. title: of the page. url: the
    image: a `data:` URL, or the path of a route of this server.
    """

    id: str
    title: str
    url: str


class PullRequestProposal(BaseModel):
    """A draft of a pull request, made from the work in the conversation, for the user to edit.

    uncommitted_files: how many files differ from the last commit; they are committed when the pull request is
    created. is_pushed: whether the host has the branch at its current commit. commits: subjects of the
    commits since the base, the newest first, at most 20. screenshots: at most 6, the oldest first.
    takes_screenshots: whether the host takes images by its API; otherwise chosen screenshots become links to
    the conversation.
    """

    repository: str
    git_provider: GitProvider
    title: str
    body: str
    head: str
    base: str
    uncommitted_files: int
    commits: list[str]
    is_pushed: bool
    screenshots: list[ProposedScreenshot]
    takes_screenshots: bool


class CreatePullRequest(BaseModel):
    """A pull request to open. repository: the directory, name or URL of one of the conversation's
    repositories; null for the first one. head: the branch to push to; it is created if it does not exist.
    Uncommitted changes are committed with the title as the message. screenshots: ids of screenshots of the
    draft; they are uploaded to the host and shown in the text, or linked where the host takes no images.
    """

    model_config = ConfigDict(extra="forbid")

    repository: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    title: Title
    body: Annotated[str, Field(max_length=MAX_BODY_CHARACTERS)] = ""
    head: BranchName
    base: BranchName
    draft: bool = True
    labels: Names = []
    reviewers: Names = []
    screenshots: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=MAX_SCREENSHOTS)
    ] = []


class CreatedPullRequest(BaseModel):
    """The opened pull request. `is_new`: false if the branch already had an open pull request. `left_out`:
    sentences about what the host did not accept.
    """

    pull_request: PullRequestInfo
    is_new: bool
    left_out: list[str]


class ChangePullRequest(BaseModel):
    """Changes of a pull request. Fields that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    body: Annotated[str, Field(max_length=MAX_BODY_CHARACTERS)] | None = None
    draft: bool | None = None


class AgentAsked(BaseModel):
    """The message that was sent to the agent. `count`: the number of review threads or checks in it."""

    message_id: str
    count: int
