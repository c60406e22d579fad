"""The types that the clients of all git hosts take as arguments and return.

Names of repositories are paths as the host writes them, without the host: `owner/name`, `group/sub/name` at
GitLab, `PROJECT/name` at Bitbucket Data Center, `organization/project/name` at Azure DevOps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Item = TypeVar("Item")

MAX_TITLE_CHARACTERS = 400
"""The maximum length of a title. Azure DevOps refuses longer titles. The other git hosts accept titles of at
least 255 characters.
"""


Text = Annotated[str, AfterValidator(lambda text: text.replace("\x00", ""))]
"""A text from a git host. Null characters are removed, because PostgreSQL does not accept them."""


class Value(BaseModel):
    """The base class of the types in this module. The fields of an object cannot be changed after its
    creation.
    """

    model_config = ConfigDict(frozen=True)


class Slice(Value, Generic[Item]):
    """One page of a list at a git host. `next_page`: the host's id of the next page; None on the
    last page.
    """

    items: tuple[Item, ...]
    next_page: str | None = None


class RateLimit(Value):
    """The number of calls that a git host accepts with a token. `limit`: calls in one period; None if the
    host does not say. `remaining`: calls that are left. `resets_at`: the end of the period; None if the host
    does not say.
    """

    limit: int | None = None
    remaining: int
    resets_at: datetime | None = None


class HostUser(Value):
    """A user of a git host: the owner of the token with which Slipway has called the host. `scopes`: what
    this token may do, with the host's names for scopes. `expires_at`: when the token expires; None also means
    that it does not expire. `rate_limit`: the limit that the host stated in its last reply. Each of these
    three fields is None if the host does not state it.
    """

    id: str
    login: str
    name: str | None = None
    email: str | None = None
    avatar_url: str = ""
    company: str | None = None
    scopes: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    rate_limit: RateLimit | None = None


class OwnerKind(StrEnum):
    USER = "user"
    ORGANIZATION = "organization"


class Organization(Value):
    """An organisation, group, workspace or project that contains repositories at a git host."""

    id: str
    name: str


class HostRepository(Value):
    """A repository at a git host. `clone_url`: the address of the repository for git over HTTP, without
    credentials. `can_push`: whether the user may push to the repository; None if the host does not say.
    `parent`: the full name of the original repository if this repository is a fork; None if it is not a fork
    or the host does not say.
    """

    id: str
    full_name: str
    clone_url: str
    web_url: str
    is_public: bool
    default_branch: str | None = None
    can_push: bool | None = None
    is_archived: bool = False
    owner_kind: OwnerKind | None = None
    stars: int | None = None
    pushed_at: datetime | None = None
    parent: str | None = None


class HostBranch(Value):
    """A branch of a repository at a git host. `commit`: the hash of the branch's last commit, 40 or 64
    hexadecimal digits.
    """

    name: str
    commit: str
    is_protected: bool = False
    pushed_at: datetime | None = None


class PullRequestState(StrEnum):
    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class Mergeability(StrEnum):
    """Whether the git host can merge a pull request now. `clean`: it can. `conflicts`: it cannot, because the
    branches have conflicting changes. `blocked`: it does not allow the merge, for example because of a rule.
    `checking`: it has not found out yet. `unknown`: it does not say.
    """

    CLEAN = "clean"
    CONFLICTS = "conflicts"
    BLOCKED = "blocked"
    CHECKING = "checking"
    UNKNOWN = "unknown"


class PullRequest(Value):
    """A pull request (at GitLab a merge request).

    `number`: the number that users see. `head`: the branch with the changes. `base`: the branch into which
    the changes are to be merged. `head` and `base` do not begin with `refs/heads/`. `head_repository`: the
    full name of the repository that contains `head`; None if that repository was deleted. `head_commit`: the
    hash of the last commit of `head`.
    """

    number: Annotated[int, Field(ge=1, le=2**31 - 1)]
    title: Text
    body: Text
    url: Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2000)]
    state: PullRequestState
    is_draft: bool
    head: str
    base: str
    head_repository: str | None
    head_commit: Annotated[str, Field(max_length=64)] | None
    author: str
    mergeability: Mergeability = Mergeability.UNKNOWN
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    updated_at: datetime | None = None


Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARACTERS)]


class NewPullRequest(Value):
    """The data of a pull request that is to be opened at a git host.

    `head`: the branch with the changes. `base`: the branch into which the changes are to be merged.
    `head_repository`: the fork that contains `head`; None means the repository that contains `base`.
    `labels`: names of labels; a host without labels ignores them and says so in `OpenedPullRequest.left_out`.
    `reviewers`: logins.
    """

    title: Title
    body: str = ""
    head: str
    base: str
    head_repository: str | None = None
    is_draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()


class OpenedPullRequest(Value):
    """The result of a request to open a pull request. `is_new`: False if there was already an open pull
    request for the same two branches; then the result contains that pull request. `left_out`: sentences
    for the user about fields that the git host did not accept.
    """

    pull_request: PullRequest
    is_new: bool
    left_out: tuple[str, ...] = ()


class PullRequestChanges(Value):
    """The changes of a pull request: new values for some fields. A field that is None does not change."""

    title: Title | None = None
    body: str | None = None
    base: str | None = None
    is_draft: bool | None = None
    state: PullRequestState | None = Field(default=None, description="open or closed; never merged")


class ItemKind(StrEnum):
    """The kind of a numbered item in a repository: an issue or a pull request. Methods need the kind in
    addition to the number, because at some git hosts an issue and a pull request can have the same number.
    """

    ISSUE = "issue"
    PULL_REQUEST = "pull_request"


class Comment(Value):
    """A comment on an issue or a pull request. `url`: the web address of the comment; None if the git host
    has none. `is_by_system`: whether the git host itself has written the comment.
    """

    id: str
    author: str
    body: str
    created_at: datetime | None = None
    url: str | None = None
    is_by_system: bool = False


class ReviewThread(Value):
    """A thread of review comments on one line or file of a pull request, oldest comment first. `path`: the
    path of the file; None if the host does not say. `line`: counted from 1; None for a comment on a whole
    file, and for a line that the pull request no longer contains. `can_be_resolved`: whether the git host can
    mark the thread as resolved.
    """

    id: str
    path: str | None
    line: int | None
    is_resolved: bool
    can_be_resolved: bool
    comments: tuple[Comment, ...]


class ReviewVerdict(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    COMMENTED = "commented"


class Review(Value):
    """A review of a pull request as a whole. `body`: what the reviewer wrote; may be empty."""

    author: str
    verdict: ReviewVerdict
    body: str = ""


class Issue(Value):
    """An issue (at Azure DevOps a work item). `body`: the description, in Markdown. If the git host stores
    the description as HTML, `body` is the plain text to which Slipway has converted this HTML.
    """

    number: int
    title: str
    body: str
    url: str
    is_open: bool
    author: str
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()


class CheckState(StrEnum):
    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Check(Value):
    """A check of a commit, such as a CI job. `id`: identifies the check in a request for its log; None if the
    git host stores no log of the check.
    """

    id: str | None
    name: str
    state: CheckState
    url: str | None = None
    summary: str = ""


class TaskKind(StrEnum):
    """The kind of a task at a git host that Slipway suggests to a user. The first three values are problems
    of an open pull request, in this order of priority. `OPEN_ISSUE`: an open issue that is assigned to the
    user. `OPEN_PR`: an open pull request without such a problem; Slipway does not suggest such tasks. The
    values are the names that Slipway's API uses.
    """

    MERGE_CONFLICTS = "MERGE_CONFLICTS"
    FAILING_CHECKS = "FAILING_CHECKS"
    UNRESOLVED_COMMENTS = "UNRESOLVED_COMMENTS"
    OPEN_ISSUE = "OPEN_ISSUE"
    OPEN_PR = "OPEN_PR"


class HostTask(Value):
    """A task for a user at a git host: a pull request with a problem, or an issue."""

    kind: TaskKind
    repository: str
    number: int
    title: str


def by_name(values: Sequence[HostBranch], query: str) -> tuple[HostBranch, ...]:
    """Returns the branches whose name contains `query`. Ignores upper and lower case. `values`: all branches.
    Used for git hosts whose API cannot search branches.
    """
    return tuple(branch for branch in values if query.casefold() in branch.name.casefold())


@dataclass(frozen=True)
class HostImage:
    """An image that is uploaded to a git host. `name`: a file name whose extension matches the type of the
    image.
    """

    name: str
    media_type: str
    content: bytes = field(repr=False)
