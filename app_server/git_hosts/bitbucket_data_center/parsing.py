"""Converts the JSON of Bitbucket Data Center to Slipway's own types, which are the same for all git hosts.
Does no I/O.

Source: https://developer.atlassian.com/server/bitbucket/rest/. Times are in milliseconds since 1970.
"""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from app_server.git_hosts.paths_and_bodies import cut_to
from app_server.git_hosts.schemas import (
    Check,
    CheckState,
    Comment,
    HostBranch,
    HostRepository,
    HostUser,
    Mergeability,
    OwnerKind,
    PullRequest,
    PullRequestChanges,
    PullRequestState,
    Review,
    ReviewThread,
    ReviewVerdict,
)

Json = dict[str, Any]

HEADS = "refs/heads/"
MAX_TITLE_CHARACTERS = 255

_STATES = {"OPEN": PullRequestState.OPEN, "MERGED": PullRequestState.MERGED}
_CHECK_STATES = {
    "SUCCESSFUL": CheckState.PASSED,
    "FAILED": CheckState.FAILED,
    "CANCELLED": CheckState.SKIPPED,
}
_VERDICTS = {"APPROVED": ReviewVerdict.APPROVED, "NEEDS_WORK": ReviewVerdict.CHANGES_REQUESTED}


def user(found: Json) -> HostUser:
    return HostUser(
        id=str(found.get("id") or found["name"]),
        login=found["name"],
        name=found.get("displayName"),
        email=found.get("emailAddress"),
        avatar_url=found.get("avatarUrl") or "",
    )


def repository(
    found: Json, default_branch: str | None = None, *, can_push: bool | None = None
) -> HostRepository:
    """Converts a repository from Bitbucket's JSON. `default_branch`: the name of the default branch; None if
    it is not known. `can_push`: whether the user may push; None if it is not known. The caller gets these two
    values from other calls to the host, because the JSON of a repository does not contain them.
    """
    project = found["project"]
    web_url = _link(found, "self").removesuffix("/browse")
    origin = found.get("origin")
    return HostRepository(
        id=str(found["id"]),
        full_name=name_of(found),
        clone_url=_clone_url(found) or f"{web_url}.git",
        web_url=web_url,
        is_public=bool(found.get("public") or project.get("public")),
        default_branch=default_branch,
        can_push=can_push,
        is_archived=bool(found.get("archived")),
        owner_kind=OwnerKind.USER if project["key"].startswith("~") else OwnerKind.ORGANIZATION,
        parent=name_of(origin) if origin else None,
    )


def _clone_url(found: Json) -> str | None:
    clones = (found.get("links") or {}).get("clone") or ()
    for one in clones:
        if one.get("name") in {"http", "https"}:
            parts = urlsplit(str(one["href"]))
            return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return None


def name_of(found: Json) -> str:
    return f"{found['project']['key']}/{found['slug']}"


def branch(found: Json) -> HostBranch:
    return HostBranch(name=found["displayId"], commit=found["latestCommit"])


def pull_request(found: Json, mergeability: Mergeability = Mergeability.UNKNOWN) -> PullRequest:
    source = found["fromRef"]
    head_repository = source.get("repository")
    return PullRequest(
        number=found["id"],
        title=found["title"],
        body=found.get("description") or "",
        url=_link(found, "self"),
        state=_STATES.get(found["state"], PullRequestState.CLOSED),
        is_draft=bool(found.get("draft")),
        head=_short(source),
        base=_short(found["toRef"]),
        head_repository=name_of(head_repository) if head_repository else None,
        head_commit=source.get("latestCommit"),
        author=_login((found.get("author") or {}).get("user")),
        mergeability=mergeability,
        reviewers=tuple(_login(one.get("user")) for one in found.get("reviewers") or ()),
        updated_at=_moment(found.get("updatedDate")),
    )


def _short(ref: Json) -> str:
    return str(ref["id"]).removeprefix(HEADS)


def mergeability(found: Json) -> Mergeability:
    if found.get("conflicted"):
        return Mergeability.CONFLICTS
    if found.get("vetoes"):
        return Mergeability.BLOCKED
    if found.get("canMerge") or found.get("outcome") == "CLEAN":
        return Mergeability.CLEAN
    return Mergeability.CHECKING if found.get("outcome") == "UNKNOWN" else Mergeability.UNKNOWN


def title(text: str) -> str:
    return text if len(text) <= MAX_TITLE_CHARACTERS else text[: MAX_TITLE_CHARACTERS - 1] + "…"


def ref(repository_name: str, branch_name: str) -> Json:
    """Returns the JSON of a branch in the form that Bitbucket's API expects in a pull request.
    `repository_name`: the full name of the repository, `PROJECT/name`.
    """
    key, _, slug = repository_name.partition("/")
    return {"id": HEADS + branch_name, "repository": {"slug": slug, "project": {"key": key}}}


def changed(known: Json, changes: PullRequestChanges, max_characters: int) -> Json:
    """Returns the JSON of the whole pull request with `changes` applied, in the form that Bitbucket's API
    expects. The result contains all fields, because Bitbucket deletes a field that is missing in a request.
    `known`: the present JSON of the pull request. `max_characters`: the length to which the description is
    cut.
    """
    to_ref = known["toRef"]
    return {
        "version": known["version"],
        "title": title(changes.title if changes.title is not None else known["title"]),
        "description": cut_to(
            changes.body if changes.body is not None else known.get("description") or "", max_characters
        ),
        "toRef": ref(name_of(to_ref["repository"]), changes.base or _short(to_ref)),
        "reviewers": [{"user": {"name": _login(one.get("user"))}} for one in known.get("reviewers") or ()],
        "draft": bool(known.get("draft")) if changes.is_draft is None else changes.is_draft,
    }


def comment(found: Json, item_url: str) -> Comment:
    return Comment(
        id=str(found["id"]),
        author=_login(found.get("author")),
        body=found.get("text") or "",
        created_at=_moment(found.get("createdDate")),
        url=f"{item_url}/overview?commentId={found['id']}",
    )


def added_comments(activities: list[Json]) -> list[Json]:
    """Selects the activities of a pull request that added a comment. Returns them with the oldest first.
    `activities`: Bitbucket's list, with the newest first.
    """
    return [
        one
        for one in reversed(activities)
        if one.get("action") == "COMMENTED"
        and one.get("commentAction") in {None, "ADDED"}
        and one.get("comment")
    ]


def comments(activities: list[Json], item_url: str) -> list[Comment]:
    """Returns the comments of a pull request that do not belong to a line of a file, with the replies to
    these comments. `item_url`: the web address of the pull request.
    """
    return [
        comment(one, item_url)
        for activity in added_comments(activities)
        if not activity.get("commentAnchor")
        for one in _with_answers(activity["comment"])
    ]


def threads(activities: list[Json], item_url: str) -> list[ReviewThread]:
    return [
        ReviewThread(
            id=str(activity["comment"]["id"]),
            path=_path(activity["commentAnchor"].get("path")),
            line=activity["commentAnchor"].get("line"),
            is_resolved=bool(activity["comment"].get("threadResolved")),
            can_be_resolved="threadResolved" in activity["comment"],
            comments=tuple(comment(one, item_url) for one in _with_answers(activity["comment"])),
        )
        for activity in added_comments(activities)
        if activity.get("commentAnchor")
    ]


def _with_answers(found: Json) -> list[Json]:
    answers = [one for answer in found.get("comments") or () for one in _with_answers(answer)]
    return [found, *sorted(answers, key=lambda one: one.get("createdDate") or 0)]


def _path(found: Any) -> str | None:
    if isinstance(found, dict):
        components = found.get("components")
        return "/".join(components) if components else found.get("name")
    return found or None


def reviews(found: Json) -> list[Review]:
    return [
        Review(author=_login(one.get("user")), verdict=_VERDICTS[one["status"]])
        for one in found.get("reviewers") or ()
        if one.get("status") in _VERDICTS
    ]


def status(found: Json) -> Check:
    return Check(
        id=None,
        name=found.get("name") or found["key"],
        state=_CHECK_STATES.get(found["state"], CheckState.PENDING),
        url=found.get("url"),
        summary=found.get("description") or "",
    )


def reason_of(said: Any) -> str:
    """Returns the messages of all errors in an error reply of Bitbucket. `said`: the JSON of the reply."""
    found = said.get("errors") if isinstance(said, dict) else None
    if not isinstance(found, list):
        return ""
    words = [
        f"{one['context']}: {one.get('message')}" if one.get("context") else str(one.get("message") or "")
        for one in found
        if isinstance(one, dict)
    ]
    return "; ".join(word for word in words if word)


def _login(found: Json | None) -> str:
    return (found or {}).get("name") or "ghost"


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _link(found: Json, name: str) -> str:
    links = (found.get("links") or {}).get(name) or [{}]
    return links[0].get("href") or ""
