"""Request bodies and replies of the routes for the pull requests of a conversation."""

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
    """The reply about a pull request of the conversation, with the state that the git host reported last.
    `problem`: why the last request to the host failed; null if it succeeded. If it failed, the other fields
    contain the state from an earlier request.
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
    """A screenshot that the agent took after its last edit of a file. id: the id of the event that contains
    the screenshot. title: the title of the web page. url: the address of the image, which is a `data:` URL or
    the path of a route of this server.
    """

    id: str
    title: str
    url: str


class PullRequestProposal(BaseModel):
    """A draft of a pull request, which the user can edit before the pull request is created.

    uncommitted_files: the number of files that differ from the last commit; they are committed when the pull
    request is created. is_pushed: whether the git host has the current commit of the branch. commits:
    subjects of the commits since the conversation began, the newest first, at most 20. screenshots: at most
    6, the oldest first. takes_screenshots: whether the chosen screenshots can be uploaded to the git host. If
    not, the description of the pull request contains links to them.
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
    """The request body that opens a pull request. repository: the directory, name or URL of one of the
    conversation's repositories; null for the first one. head: the branch to push to; it is created if it does
    not exist. Uncommitted changes are committed with the title as the message. screenshots: the ids of those
    screenshots in the draft (ProposedScreenshot) that the user has chosen. They are uploaded to the git host
    and shown in the description, or linked if this host accepts no images.
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
    """The reply about the opened pull request. `is_new`: false if the branch already had an open pull
    request. `left_out`: sentences about fields and images that the host did not accept.
    """

    pull_request: PullRequestInfo
    is_new: bool
    left_out: list[str]


class ChangePullRequest(BaseModel):
    """The request body that changes a pull request. Fields that are left out or null are not changed."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    body: Annotated[str, Field(max_length=MAX_BODY_CHARACTERS)] | None = None
    draft: bool | None = None


class AgentAsked(BaseModel):
    """The reply after Slipway has sent a message to the agent. `count`: the number of review threads and
    reviews, or of checks, in the message.
    """

    message_id: str
    count: int
