"""Converts the JSON of GitHub to Slipway's own types, which are the same for all git hosts. Does no I/O.
Source: https://docs.github.com/en/rest.
"""

from collections.abc import Iterable
from datetime import datetime
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
    OwnerKind,
    PullRequest,
    PullRequestState,
    Review,
    ReviewVerdict,
)

Json = dict[str, Any]

_MERGEABILITY = {
    "dirty": Mergeability.CONFLICTS,
    "blocked": Mergeability.BLOCKED,
    "behind": Mergeability.BLOCKED,
    "draft": Mergeability.BLOCKED,
}
_VERDICTS = {
    "APPROVED": ReviewVerdict.APPROVED,
    "CHANGES_REQUESTED": ReviewVerdict.CHANGES_REQUESTED,
    "COMMENTED": ReviewVerdict.COMMENTED,
}
_SKIPPED = frozenset(("skipped", "neutral", "cancelled", "stale"))
_STATES = {"success": CheckState.PASSED, "failure": CheckState.FAILED, "error": CheckState.FAILED}


def user(found: Json, scopes: tuple[str, ...] | None, expires_at: datetime | None) -> HostUser:
    return HostUser(
        id=str(found["id"]),
        login=found["login"],
        name=found.get("name"),
        email=found.get("email"),
        avatar_url=found.get("avatar_url") or "",
        company=found.get("company"),
        scopes=scopes,
        expires_at=expires_at,
    )


def addresses(user: Json, emails: Iterable[Json]) -> frozenset[str]:
    """Returns the verified e-mail addresses of a user in lower case. They include the `noreply` addresses
    that GitHub gives to users who hide their own. `user`, `emails`: GitHub's JSON of the user and of the
    user's e-mail addresses.
    """
    hidden = "users.noreply.github.com"
    login, number = user["login"], user["id"]
    made = (f"{login}@{hidden}".lower(), f"{number}+{login}@{hidden}".lower())
    return frozenset((*made, *(one["email"].lower() for one in emails if one["verified"])))


def organization(found: Json) -> Organization:
    return Organization(id=found["login"], name=found["login"])


def repository(found: Json) -> HostRepository:
    may = found.get("permissions") or {}
    owner = (found.get("owner") or {}).get("type")
    return HostRepository(
        id=str(found["id"]),
        full_name=found["full_name"],
        clone_url=found.get("clone_url") or f"{found['html_url']}.git",
        web_url=found["html_url"],
        is_public=not found["private"],
        default_branch=found.get("default_branch"),
        can_push=may.get("push"),
        is_archived=bool(found.get("archived")),
        owner_kind=OwnerKind.ORGANIZATION if owner == "Organization" else OwnerKind.USER,
        stars=found.get("stargazers_count"),
        pushed_at=found.get("pushed_at"),
        parent=(found.get("parent") or {}).get("full_name"),
    )


def branch(found: Json) -> HostBranch:
    return HostBranch(
        name=found["name"], commit=found["commit"]["sha"], is_protected=bool(found.get("protected"))
    )


def branch_of_ref(found: Json) -> HostBranch:
    return HostBranch(name=found["ref"].removeprefix("refs/heads/"), commit=found["object"]["sha"])


def pull_request(found: Json) -> PullRequest:
    if found.get("merged_at") or found.get("merged"):
        state = PullRequestState.MERGED
    else:
        state = PullRequestState.OPEN if found["state"] == "open" else PullRequestState.CLOSED
    head, repo = found["head"], found["head"].get("repo")
    return PullRequest(
        number=found["number"],
        title=found["title"],
        body=found.get("body") or "",
        url=found["html_url"],
        state=state,
        is_draft=bool(found.get("draft")),
        head=head["ref"],
        base=found["base"]["ref"],
        head_repository=repo["full_name"] if repo else None,
        head_commit=head["sha"],
        author=_login(found),
        mergeability=_mergeability(found),
        labels=tuple(label["name"] for label in found.get("labels") or ()),
        reviewers=tuple(one["login"] for one in found.get("requested_reviewers") or ()),
        updated_at=found.get("updated_at"),
    )


def _mergeability(found: Json) -> Mergeability:
    if "mergeable" not in found:
        return Mergeability.UNKNOWN  # lists do not have it
    if found["mergeable"] is None:
        return Mergeability.CHECKING if found["state"] == "open" else Mergeability.UNKNOWN
    if not found["mergeable"]:
        return Mergeability.CONFLICTS
    return _MERGEABILITY.get(found.get("mergeable_state") or "", Mergeability.CLEAN)


def comment(found: Json) -> Comment:
    return Comment(
        id=str(found["id"]),
        author=_login(found),
        body=found.get("body") or "",
        created_at=found.get("created_at"),
        url=found.get("html_url"),
    )


def issue(found: Json) -> Issue:
    labels = [label if isinstance(label, str) else label.get("name") or "" for label in found["labels"]]
    return Issue(
        number=found["number"],
        title=found["title"],
        body=found.get("body") or "",
        url=found["html_url"],
        is_open=found["state"] == "open",
        author=_login(found),
        labels=tuple(labels),
        assignees=tuple(one["login"] for one in found.get("assignees") or ()),
    )


def reviews(found: list[Json]) -> list[Review]:
    """Returns the latest review of each reviewer. A later review that only comments does not replace an
    approval or a request for changes of the same reviewer.
    """
    return latest_reviews(
        (_login(one), None if one["state"] == "DISMISSED" else _VERDICTS.get(one["state"]), one.get("body"))
        for one in found
        if one["state"] in {*_VERDICTS, "DISMISSED"}
    )


def check_run(found: Json) -> Check:
    output = found.get("output") or {}
    if found["status"] != "completed":
        state = CheckState.PENDING
    elif found["conclusion"] == "success":
        state = CheckState.PASSED
    else:
        state = CheckState.SKIPPED if found["conclusion"] in _SKIPPED else CheckState.FAILED
    is_job = ((found.get("app") or {}).get("slug")) == "github-actions"
    return Check(
        id=str(found["id"]) if is_job else None,
        name=found["name"],
        state=state,
        url=found.get("html_url") or found.get("details_url"),
        summary=output.get("title") or "",
    )


def status(found: Json) -> Check:
    return Check(
        id=None,
        name=found["context"],
        state=_STATES.get(found["state"], CheckState.PENDING),
        url=found.get("target_url"),
        summary=found.get("description") or "",
    )


def reason_of(said: Any) -> str:
    """Returns the error message in an error reply of GitHub, with the messages about single fields. `said`:
    the JSON of the reply.
    """
    if not isinstance(said, dict):
        return ""
    inner = [
        one if isinstance(one, str) else one.get("message") or f"{one.get('field', '')} {one.get('code', '')}"
        for one in said.get("errors") or ()
        if isinstance(one, str | dict)
    ]
    return "; ".join(text.strip() for text in (str(said.get("message") or ""), *inner) if text.strip())


def _login(found: Json) -> str:
    # The account may be deleted.
    return (found.get("user") or {}).get("login") or "ghost"
