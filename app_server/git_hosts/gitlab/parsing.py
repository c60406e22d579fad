"""Converts the JSON of GitLab to Slipway's own types, which are the same for all git hosts. Does no I/O.
Source: https://docs.gitlab.com/api/rest/.
"""

import re
from collections.abc import Iterable
from typing import Any

from app_server.git_hosts.schemas import (
    Check,
    CheckState,
    Comment,
    HostBranch,
    HostRepository,
    HostUser,
    Issue,
    Mergeability,
    OwnerKind,
    PullRequest,
    PullRequestState,
    Review,
    ReviewThread,
    ReviewVerdict,
)

Json = dict[str, Any]

DEVELOPER = 30
MAX_TITLE_CHARACTERS = 255

_DRAFT = re.compile(r"(?:(?:\[draft\]|\(draft\)|draft:)\s*)+", re.IGNORECASE)
_STATES = {
    "opened": PullRequestState.OPEN,
    "locked": PullRequestState.OPEN,  # while it is being merged
    "merged": PullRequestState.MERGED,
}
_MERGEABILITY = {
    "mergeable": Mergeability.CLEAN,
    "can_be_merged": Mergeability.CLEAN,
    "conflict": Mergeability.CONFLICTS,
    "broken_status": Mergeability.CONFLICTS,
    "cannot_be_merged": Mergeability.CONFLICTS,
    "cannot_be_merged_recheck": Mergeability.CHECKING,
    "checking": Mergeability.CHECKING,
    "unchecked": Mergeability.CHECKING,
    "preparing": Mergeability.CHECKING,
    "approvals_syncing": Mergeability.CHECKING,
    "not_open": Mergeability.UNKNOWN,
}
_CHECK_STATES = {
    "success": CheckState.PASSED,
    "failed": CheckState.FAILED,
    "canceled": CheckState.SKIPPED,
    "skipped": CheckState.SKIPPED,
    "manual": CheckState.SKIPPED,
}
_VERDICTS = {
    "approved": ReviewVerdict.APPROVED,
    "requested_changes": ReviewVerdict.CHANGES_REQUESTED,
    "reviewed": ReviewVerdict.COMMENTED,
}


def missing_scope(_reply: object, said: Any) -> str | None:
    """Returns the scope that is missing for the token according to an error reply of GitLab. Returns None if
    the reply reports another error. `said`: the JSON of the reply.
    """
    is_scope = isinstance(said, dict) and said.get("error") == "insufficient_scope"
    return str(said.get("scope") or "api") if is_scope else None


def user(found: Json, token: Json | None) -> HostUser:
    """Converts a user from GitLab's JSON. `token`: GitLab's description of the token; None if GitLab gives
    none.
    """
    ends = (token or {}).get("expires_at")
    return HostUser(
        id=str(found["id"]),
        login=found["username"],
        name=found.get("name"),
        email=found.get("email") or found.get("public_email") or None,
        avatar_url=found.get("avatar_url") or "",
        company=found.get("organization") or None,
        scopes=None if token is None else tuple(token.get("scopes") or ()),
        expires_at=f"{ends}T00:00:00Z" if ends else None,
    )


def addresses(user: Json, emails: Iterable[Json]) -> frozenset[str]:
    """Returns the confirmed e-mail addresses of a user in lower case. `user`: GitLab's JSON of the user, with
    the primary address and the address for commits. `emails`: the user's other addresses.
    """
    own = (user.get("email"), user.get("commit_email")) if user.get("confirmed_at") else ()
    listed = (one["email"] for one in emails if one.get("confirmed_at"))
    return frozenset(address.lower() for address in (*own, *listed) if address)


def repository(found: Json) -> HostRepository:
    return HostRepository(
        id=str(found["id"]),
        full_name=found["path_with_namespace"],
        clone_url=found["http_url_to_repo"],
        web_url=found["web_url"],
        is_public=found.get("visibility") == "public",
        default_branch=found.get("default_branch"),
        can_push=_can_push(found.get("permissions")),
        is_archived=bool(found.get("archived")),
        owner_kind=_owner_kind(found.get("namespace")),
        stars=found.get("star_count"),
        pushed_at=found.get("last_activity_at"),
        parent=(found.get("forked_from_project") or {}).get("path_with_namespace"),
    )


def _can_push(permissions: Json | None) -> bool | None:
    levels = [level["access_level"] for level in (permissions or {}).values() if level]
    return max(levels) >= DEVELOPER if levels else None


def _owner_kind(namespace: Json | None) -> OwnerKind | None:
    if not namespace:
        return None
    return OwnerKind.USER if namespace.get("kind") == "user" else OwnerKind.ORGANIZATION


def branch(found: Json) -> HostBranch:
    return HostBranch(
        name=found["name"],
        commit=found["commit"]["id"],
        is_protected=bool(found.get("protected")),
        pushed_at=found["commit"].get("committed_date"),
    )


def pull_request(found: Json, head_repository: str | None) -> PullRequest:
    return PullRequest(
        number=found["iid"],
        title=without_draft(found["title"]),
        body=found.get("description") or "",
        url=found["web_url"],
        state=_STATES.get(found["state"], PullRequestState.CLOSED),
        is_draft=bool(found.get("draft") or found.get("work_in_progress")),
        head=found["source_branch"],
        base=found["target_branch"],
        head_repository=head_repository,
        head_commit=found.get("sha"),
        author=_login(found),
        mergeability=mergeability(found),
        labels=tuple(found.get("labels") or ()),
        reviewers=tuple(one["username"] for one in found.get("reviewers") or ()),
        updated_at=found.get("updated_at"),
    )


def mergeability(found: Json) -> Mergeability:
    if found["state"] not in {"opened", "locked"}:
        return Mergeability.UNKNOWN
    if found.get("has_conflicts"):
        return Mergeability.CONFLICTS
    status = found.get("detailed_merge_status") or found.get("merge_status")
    return _MERGEABILITY.get(status, Mergeability.BLOCKED) if status else Mergeability.UNKNOWN


def titled(title: str, *, is_draft: bool) -> str:
    """Returns the title for a merge request, cut to MAX_TITLE_CHARACTERS. First removes a draft prefix from
    `title`. If `is_draft`, then adds the prefix `Draft: `, with which GitLab marks drafts.
    """
    bare = without_draft(title)
    full_title = f"Draft: {bare}" if is_draft else bare
    return (
        full_title
        if len(full_title) <= MAX_TITLE_CHARACTERS
        else full_title[: MAX_TITLE_CHARACTERS - 1] + "…"
    )


def without_draft(title: str) -> str:
    match = _DRAFT.match(title)
    return title[match.end() :] or title if match else title


def comment(found: Json, item_url: str) -> Comment:
    return Comment(
        id=str(found["id"]),
        author=_login(found),
        body=found.get("body") or "",
        created_at=found.get("created_at"),
        url=f"{item_url}#note_{found['id']}",
        is_by_system=bool(found.get("system")),
    )


def thread(found: Json, item_url: str) -> ReviewThread | None:
    """Converts a discussion of GitLab to a review thread. Returns None if the discussion has no comment that
    can be resolved. `item_url`: the web address of the merge request.
    """
    notes = [note for note in found["notes"] if not note.get("system")]
    resolvable = [note for note in notes if note.get("resolvable")]
    if not resolvable:
        return None
    position = notes[0].get("position") or {}
    return ReviewThread(
        id=str(found["id"]),
        path=position.get("new_path") or position.get("old_path"),
        line=position.get("new_line") or position.get("old_line"),
        is_resolved=all(note.get("resolved") for note in resolvable),
        can_be_resolved=True,
        comments=tuple(comment(note, item_url) for note in notes),
    )


def reviews(reviewers: list[Json], approvals: Json) -> list[Review]:
    """Returns one review for each person who has reviewed or approved a merge request, including people who
    were not asked to review. `reviewers`, `approvals`: GitLab's JSON about the reviewers and the approvals.
    """
    found = {
        one["user"]["username"]: _VERDICTS[one["state"]]
        for one in reviewers
        if one.get("user") and one.get("state") in _VERDICTS
    }
    for one in approvals.get("approved_by") or ():
        found[one["user"]["username"]] = ReviewVerdict.APPROVED
    return [Review(author=author, verdict=verdict) for author, verdict in found.items()]


def issue(found: Json) -> Issue:
    return Issue(
        number=found["iid"],
        title=found["title"],
        body=found.get("description") or "",
        url=found["web_url"],
        is_open=found["state"] == "opened",
        author=_login(found),
        labels=tuple(found.get("labels") or ()),
        assignees=tuple(one["username"] for one in found.get("assignees") or ()),
    )


def job(found: Json, project_id: int) -> Check:
    """Converts a CI job from GitLab's JSON to a Check. `project_id`: the project that contains the pipeline.
    The pipeline of a merge request from a fork belongs to the fork. The id of the check is
    `PROJECT_ID:JOB_ID`, because both ids are needed to request the job's log.
    """
    return Check(
        id=f"{project_id}:{found['id']}",
        name=found["name"],
        state=_check_state(found),
        url=found.get("web_url"),
        summary=found.get("failure_reason") or found.get("stage") or "",
    )


def status(found: Json) -> Check:
    return Check(
        id=None,
        name=found["name"],
        state=_check_state(found),
        url=found.get("target_url"),
        summary=found.get("description") or "",
    )


def _check_state(found: Json) -> CheckState:
    if found["status"] == "failed" and found.get("allow_failure"):
        return CheckState.SKIPPED
    return _CHECK_STATES.get(found["status"], CheckState.PENDING)


def repository_of(found: Json) -> str:
    """Returns the full name of the repository that an issue or a merge request belongs to. `found`: GitLab's
    JSON of the issue or merge request.
    """
    full = (found.get("references") or {}).get("full") or ""
    return str(re.split("[!#]", full)[0])


def reason_of(said: Any) -> str:
    """Returns the error message in an error reply of GitLab. `said`: the JSON of the reply. Its field
    `message` is a text, a list, or an object that maps names of fields to lists of texts.
    """
    if not isinstance(said, dict):
        return ""
    return _words(said.get("message") or said.get("error_description") or said.get("error"))


def _words(said: Any) -> str:
    if isinstance(said, dict):
        return "; ".join(f"{field} {_words(value)}" for field, value in said.items())
    if isinstance(said, list):
        return ", ".join(map(_words, said))
    return "" if said is None else str(said)


def _login(found: Json) -> str:
    # The account may be deleted.
    return (found.get("author") or {}).get("username") or "ghost"
