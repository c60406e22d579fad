"""Converts the JSON of Azure DevOps to Slipway's own types, which are the same for all git hosts. Does no
I/O.

Source: https://learn.microsoft.com/rest/api/azure/devops/. The items of a list are in the field `value`.
"""

from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from app_server.git_hosts.schemas import (
    Comment,
    HostBranch,
    HostRepository,
    HostUser,
    Mergeability,
    OwnerKind,
    PullRequest,
    PullRequestState,
    Review,
    ReviewThread,
    ReviewVerdict,
)

Json = dict[str, Any]

HEADS = "refs/heads/"

_STATES = {"active": PullRequestState.OPEN, "completed": PullRequestState.MERGED}
_MERGEABILITY = {
    "succeeded": Mergeability.CLEAN,
    "conflicts": Mergeability.CONFLICTS,
    "rejectedByPolicy": Mergeability.BLOCKED,
    "queued": Mergeability.CHECKING,
    "notSet": Mergeability.CHECKING,
}
_RESOLVED = frozenset(("fixed", "closed", "wontFix", "byDesign"))
_NAMES = ("Account", "Mail")


def items(found: Any) -> list[Any]:
    rows: list[Any] = found.get("value") or [] if isinstance(found, dict) else found
    return rows


def user_of_profile(found: Json) -> HostUser:
    return HostUser(
        id=found["id"],
        login=found.get("emailAddress") or found.get("displayName") or found["id"],
        name=found.get("displayName"),
        email=found.get("emailAddress"),
    )


def user_of_connection(found: Json) -> HostUser:
    address = _property(found, "Account")
    return HostUser(
        id=found["id"],
        login=address or found.get("providerDisplayName") or found["id"],
        name=found.get("customDisplayName") or found.get("providerDisplayName"),
        email=address if address and "@" in address else None,
    )


def is_called(identity: Json, name: str) -> bool:
    """Returns whether a user of Azure DevOps has this name or e-mail address. Ignores upper and lower case.
    `name`: the name or address that a person has typed. Returns False for groups.
    """
    known = [_property(identity, one) for one in _NAMES] + [identity.get("providerDisplayName")]
    return not identity.get("isContainer") and name.casefold() in {one.casefold() for one in known if one}


def _property(identity: Json, name: str) -> str | None:
    value = (identity.get("properties") or {}).get(name)
    return value.get("$value") if isinstance(value, dict) else value


def login(identity: Json | None) -> str:
    found = identity or {}
    return found.get("uniqueName") or found.get("displayName") or "ghost"


def repository(found: Json, organization: str) -> HostRepository:
    project, parent = found["project"], found.get("parentRepository")
    return HostRepository(
        id=found["id"],
        full_name=f"{organization}/{project['name']}/{found['name']}",
        clone_url=_without_user(found["remoteUrl"]),
        web_url=found.get("webUrl") or _without_user(found["remoteUrl"]),
        is_public=project.get("visibility") == "public",
        default_branch=short(found["defaultBranch"]) if found.get("defaultBranch") else None,
        is_archived=bool(found.get("isDisabled")),
        owner_kind=OwnerKind.ORGANIZATION,
        parent=f"{organization}/{parent['project']['name']}/{parent['name']}" if parent else None,
    )


def _without_user(address: str) -> str:
    parts = urlsplit(address)
    cleaned = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=quote(parts.path, safe="/%"))
    return urlunsplit(cleaned)


def short(ref: str) -> str:
    return ref.removeprefix(HEADS)


def branch(found: Json) -> HostBranch:
    return HostBranch(
        name=short(found["name"]), commit=found["objectId"], is_protected=bool(found.get("isLocked"))
    )


def pull_request(found: Json, organization: str, web: str) -> PullRequest:
    """Converts a pull request from Azure DevOps' JSON. `organization`: the organisation that contains the
    repository. `web`: the address of the repository for browsers.
    """
    fork = (found.get("forkSource") or {}).get("repository")
    source = fork or found["repository"]
    is_open = found["status"] == "active"
    state = found.get("mergeStatus")
    return PullRequest(
        number=found["pullRequestId"],
        title=found["title"],
        body=found.get("description") or "",
        url=f"{web}/pullrequest/{found['pullRequestId']}",
        state=_STATES.get(found["status"], PullRequestState.CLOSED),
        is_draft=bool(found.get("isDraft")),
        head=short(found["sourceRefName"]),
        base=short(found["targetRefName"]),
        head_repository=f"{organization}/{source['project']['name']}/{source['name']}",
        head_commit=(found.get("lastMergeSourceCommit") or {}).get("commitId"),
        author=login(found.get("createdBy")),
        mergeability=_MERGEABILITY.get(state or "", Mergeability.UNKNOWN)
        if is_open
        else Mergeability.UNKNOWN,
        labels=tuple(one["name"] for one in found.get("labels") or () if one.get("active", True)),
        reviewers=tuple(login(one) for one in found.get("reviewers") or ()),
    )


def comment(found: Json, thread_id: int, url: str) -> Comment:
    """Converts a comment from Azure DevOps' JSON. Azure DevOps numbers the comments of each thread from 1.
    Therefore the id of the returned comment contains the id of the thread and the number. `thread_id`: the
    thread that contains the comment. `url`: the web address of the pull request.
    """
    return Comment(
        id=f"{thread_id}/{found['id']}",
        author=login(found.get("author")),
        body=found.get("content") or "",
        created_at=found.get("publishedDate"),
        url=f"{url}?discussionId={thread_id}",
        is_by_system=found.get("commentType") == "system",
    )


def comments(threads: list[Json], url: str) -> list[Comment]:
    """Returns the comments in all threads of a pull request except threads about a file. The oldest comment
    comes first. `url`: the web address of the pull request.
    """
    found = [
        comment(one, thread["id"], url)
        for thread in threads
        if not thread.get("isDeleted") and not _file_of(thread)
        for one in thread.get("comments") or ()
        if not one.get("isDeleted")
    ]
    return sorted(found, key=lambda one: one.created_at.timestamp() if one.created_at else 0.0)


def review_threads(threads: list[Json], url: str) -> list[ReviewThread]:
    return [
        ReviewThread(
            id=str(thread["id"]),
            path=str(_file_of(thread)).removeprefix("/"),
            line=_line_of(thread["threadContext"]),
            is_resolved=thread.get("status") in _RESOLVED,
            can_be_resolved=True,
            comments=tuple(
                comment(one, thread["id"], url)
                for one in thread.get("comments") or ()
                if not one.get("isDeleted") and one.get("commentType") != "system"
            ),
        )
        for thread in threads
        if not thread.get("isDeleted") and _file_of(thread)
    ]


def _file_of(thread: Json) -> str | None:
    return (thread.get("threadContext") or {}).get("filePath")


def _line_of(context: Json) -> int | None:
    for end in ("rightFileEnd", "rightFileStart", "leftFileEnd", "leftFileStart"):
        if context.get(end):
            return int(context[end]["line"])
    return None


def reviews(found: Json) -> list[Review]:
    """Converts the votes of reviewers at Azure DevOps to reviews. The positive votes (10 and 5) become
    approvals. The negative votes (-5 and -10) become requests for changes. Votes of groups are left out.
    `found`: Azure DevOps' JSON of the pull request.
    """
    return [
        Review(
            author=login(one),
            verdict=ReviewVerdict.APPROVED if one["vote"] > 0 else ReviewVerdict.CHANGES_REQUESTED,
        )
        for one in found.get("reviewers") or ()
        if one.get("vote") and not one.get("isContainer")
    ]


def reason_of(said: Any) -> str:
    """Returns the error message in an error reply of Azure DevOps. `said`: the JSON of the reply."""
    if not isinstance(said, dict):
        return ""
    return str(said.get("message") or said.get("errorDescription") or "")
