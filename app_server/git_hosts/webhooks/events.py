"""Defines HostEvent: an event that a webhook reports, in the same form for all git hosts."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from app_server.git_hosts.schemas import ReviewVerdict, Value

Json = dict[str, Any]
Headers = Mapping[str, str]
"""HTTP headers by name. The names are in lower case, or the mapping ignores the case of names."""


class EventKind(StrEnum):
    ISSUE_LABELLED = "issue_labelled"
    ISSUE_ASSIGNED = "issue_assigned"
    ISSUE_CLOSED = "issue_closed"
    COMMENT = "comment"
    REVIEW_COMMENT = "review_comment"
    REVIEW = "review"
    CHECK_FAILED = "check_failed"
    PUSHED = "pushed"
    PULL_REQUEST_OPENED = "pull_request_opened"
    PULL_REQUEST_CLOSED = "pull_request_closed"
    PULL_REQUEST_MERGED = "pull_request_merged"


class HostEvent(Value):
    """One event at a git host that a webhook reports, such as a push or a comment. All its texts come from
    users of the host and must not be trusted.

    `repository`: the full name of the repository; at Azure DevOps `organization/project` for work items and
    builds. `number`: the number of the issue or pull request; None if the host does not name one.
    `is_pull_request`: True if `number` is the number of a pull request. `actor`: the login of the user who
    caused the event. `actor_id`: the host's id of that user. `text`: the text of the comment or review.
    `label`: the added label. `assignee`: the new assignee of the issue or pull request. `thread_id`: the
    host's id of the thread that a comment belongs to. `association`: how the actor is related to the
    repository, such as `MEMBER`; None if the host does not state it.

    `branch`, `commit`: the branch and the commit of a push or of a check. `paths`: the files that a push
    changes, as far as the host lists them. `delivery_id`: the host's id of the delivery; it stays the same if
    the host repeats the delivery.

    `leaves_out_comments`: True for a review of a host whose webhooks never contain a review's comments on
    lines of code. Slipway must then read these comments through the host's API.
    """

    kind: EventKind
    repository: str
    actor: str
    actor_id: str | None = None
    number: int | None = None
    is_pull_request: bool = False
    text: str = ""
    label: str | None = None
    assignee: str | None = None
    verdict: ReviewVerdict | None = None
    comment_id: str | None = None
    thread_id: str | None = None
    leaves_out_comments: bool = False
    association: str | None = None
    branch: str | None = None
    commit: str | None = None
    paths: tuple[str, ...] = ()
    url: str | None = None
    delivery_id: str = ""


def branch_of(ref: str) -> str | None:
    """Returns the name of the branch in a full ref such as `refs/heads/main`. Returns None for tags and other
    refs.
    """
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None


def paths_of(commits: list[Json]) -> tuple[str, ...]:
    """Returns the paths of all files that the commits of a push have added, modified or removed."""
    kinds = ("added", "modified", "removed")
    return tuple(dict.fromkeys(path for one in commits for kind in kinds for path in one.get(kind) or ()))


def text_or_none(value: Any) -> str | None:
    """Converts an id from a git host's JSON to text. Returns None if the id is missing."""
    return None if value is None else str(value)
