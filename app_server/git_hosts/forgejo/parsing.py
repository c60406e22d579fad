"""Converts the JSON of Forgejo and Gitea to Slipway's own types, which are the same for all git hosts. Does
no I/O.

Source: the swagger documents of Forgejo 16 and Gitea 1.28.
"""

from collections.abc import Iterable
from typing import Any

from app_server.git_hosts.latest_reviews import latest_reviews
from app_server.git_hosts.schemas import (
    Check,
    CheckState,
    Comment,
    HostBranch,
    HostRepository,
    HostUser,
    Issue,
    Mergeability,
    Organization,
    PullRequest,
    PullRequestState,
    Review,
    ReviewThread,
    ReviewVerdict,
)

Json = dict[str, Any]

DRAFT_PREFIX = "WIP: "
_DRAFT_PREFIXES = ("wip:", "[wip]", "draft:")
_VERDICTS = {
    "APPROVED": ReviewVerdict.APPROVED,
    "REQUEST_CHANGES": ReviewVerdict.CHANGES_REQUESTED,
    "COMMENT": ReviewVerdict.COMMENTED,
}
_STATES = {
    "success": CheckState.PASSED,
    "warning": CheckState.PASSED,
    "skipped": CheckState.SKIPPED,
    "failure": CheckState.FAILED,
    "error": CheckState.FAILED,
}


def user(found: Json) -> HostUser:
    return HostUser(
        id=str(found["id"]),
        login=found["login"],
        name=found.get("full_name") or None,
        email=found.get("email"),
        avatar_url=found.get("avatar_url") or "",
    )


def organization(found: Json) -> Organization:
    name = found.get("name") or found["username"]
    return Organization(id=name, name=name)


def repository(found: Json) -> HostRepository:
    may = found.get("permissions") or {}
    return HostRepository(
        id=str(found["id"]),
        full_name=found["full_name"],
        clone_url=found["clone_url"],
        web_url=found["html_url"],
        is_public=not found.get("private", False),
        default_branch=found.get("default_branch") or None,
        can_push=may.get("push"),
        is_archived=bool(found.get("archived")),
        stars=found.get("stars_count"),
        pushed_at=found.get("updated_at"),
        parent=(found.get("parent") or {}).get("full_name"),
    )


def branch(found: Json) -> HostBranch:
    commit = found["commit"]
    return HostBranch(
        name=found["name"],
        commit=commit["id"],
        is_protected=bool(found.get("protected")),
        pushed_at=commit.get("timestamp"),
    )


def pull_request(found: Json) -> PullRequest:
    if found.get("merged"):
        state = PullRequestState.MERGED
    else:
        state = PullRequestState.OPEN if found["state"] == "open" else PullRequestState.CLOSED
    head = found["head"]
    return PullRequest(
        number=found["number"],
        title=found["title"],
        body=found.get("body") or "",
        url=found["html_url"],
        state=state,
        is_draft=bool(found.get("draft", is_draft_title(found["title"]))),
        head=head["ref"],
        base=found["base"]["ref"],
        head_repository=(head.get("repo") or {}).get("full_name"),
        head_commit=head.get("sha") or None,
        author=_login(found),
        mergeability=_mergeability(found, state),
        labels=tuple(label["name"] for label in found.get("labels") or ()),
        reviewers=tuple(one["login"] for one in found.get("requested_reviewers") or () if one),
        updated_at=found.get("updated_at"),
    )


def _mergeability(found: Json, state: PullRequestState) -> Mergeability:
    if state is not PullRequestState.OPEN or found.get("mergeable") is None:
        return Mergeability.UNKNOWN
    return Mergeability.CLEAN if found["mergeable"] else Mergeability.CONFLICTS


def is_draft_title(title: str) -> bool:
    return title.lower().startswith(_DRAFT_PREFIXES)


def titled(title: str, *, is_draft: bool) -> str:
    """Returns the title of a pull request. If `is_draft`, the returned title begins with the prefix that
    makes the pull request a draft. Otherwise this prefix is removed.
    """
    if is_draft:
        return title if is_draft_title(title) else DRAFT_PREFIX + title
    prefix = next((one for one in _DRAFT_PREFIXES if title.lower().startswith(one)), "")
    return title[len(prefix) :].lstrip()


def comment(found: Json) -> Comment:
    return Comment(
        id=str(found["id"]),
        author=_login(found),
        body=found.get("body") or "",
        created_at=found.get("created_at"),
        url=found.get("html_url"),
    )


def issue(found: Json) -> Issue:
    return Issue(
        number=found["number"],
        title=found["title"],
        body=found.get("body") or "",
        url=found["html_url"],
        is_open=found["state"] == "open",
        author=_login(found),
        labels=tuple(label["name"] for label in found.get("labels") or ()),
        assignees=tuple(one["login"] for one in found.get("assignees") or ()),
    )


def reviews(found: Iterable[Json]) -> list[Review]:
    """Returns the latest review of each reviewer. A later review that only comments does not replace an
    approval or a request for changes of the same reviewer.
    """
    return latest_reviews(
        (_login(one), None if one.get("dismissed") else _VERDICTS.get(one["state"]), one.get("body"))
        for one in found
        if one.get("dismissed") or one["state"] in _VERDICTS
    )


def threads(found: Iterable[Json]) -> list[ReviewThread]:
    """Groups review comments into threads. All comments on one line of a file form one thread, as the git
    host shows them. The id of a thread is the line number, a space and the path of the file.
    """
    by_thread_id: dict[str, list[Json]] = {}
    for one in found:
        by_thread_id.setdefault(f"{one.get('position') or 0} {one['path']}", []).append(one)
    return [_thread(thread_id, comments) for thread_id, comments in by_thread_id.items()]


def _thread(thread_id: str, comments: list[Json]) -> ReviewThread:
    line, _, path = thread_id.partition(" ")
    return ReviewThread(
        id=thread_id,
        path=path,
        line=int(line) or None,
        is_resolved=any(one.get("resolver") for one in comments),
        can_be_resolved=False,
        comments=tuple(comment(one) for one in sorted(comments, key=lambda one: one["id"])),
    )


def status(found: Json) -> Check:
    return Check(
        id=None,
        name=found.get("context") or "status",
        state=_STATES.get(found.get("status") or "", CheckState.PENDING),
        url=found.get("target_url") or None,
        summary=found.get("description") or "",
    )


def reason_of(said: Any) -> str:
    """Returns the error message in an error reply of the git host, or all messages if the reply contains a
    list of messages. `said`: the JSON of the reply.
    """
    if not isinstance(said, dict):
        return ""
    words = said.get("message") or said.get("errors") or ""
    return "; ".join(map(str, words)) if isinstance(words, list) else str(words)


def _login(found: Json) -> str:
    # The account may be deleted.
    return (found.get("user") or {}).get("login") or found.get("original_author") or "ghost"
