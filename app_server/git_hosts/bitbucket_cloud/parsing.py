"""Converts the JSON of Bitbucket Cloud to Slipway's own types, which are the same for all git hosts. Does no
I/O.

Source: https://developer.atlassian.com/cloud/bitbucket/rest/. People choose their nicknames freely, and two
people can have the same nickname. Only `account_id` and `uuid` identify a person.
"""

import re
from collections.abc import Iterable
from typing import Any

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

MAX_TITLE_CHARACTERS = 255

_STATES = {"OPEN": PullRequestState.OPEN, "MERGED": PullRequestState.MERGED}
_CHECK_STATES = {
    "SUCCESSFUL": CheckState.PASSED,
    "FAILED": CheckState.FAILED,
    "STOPPED": CheckState.SKIPPED,
}
_VERDICTS = {
    "approved": ReviewVerdict.APPROVED,
    "changes_requested": ReviewVerdict.CHANGES_REQUESTED,
}
_PIPELINE = re.compile(r"/pipelines/results/(\d+)(?:/|$)")


def user(found: Json, emails: Iterable[Json], scopes: str | None) -> HostUser:
    return HostUser(
        id=found["uuid"],
        login=login(found),
        name=found.get("display_name"),
        email=next((one.get("email") for one in emails if one.get("is_primary")), None),
        avatar_url=_link(found, "avatar") or "",
        scopes=None if scopes is None else tuple(one.strip() for one in scopes.split(",") if one.strip()),
    )


def login(account: Json | None) -> str:
    """Returns the name of a Bitbucket account. Returns `ghost` if the account was deleted; then `account` is
    None or has no name.
    """
    found = account or {}
    return found.get("nickname") or found.get("username") or found.get("display_name") or "ghost"


def is_called(account: Json, name: str) -> bool:
    """Returns whether this account has the given name or id. Ignores upper and lower case. `name`: the name
    or id that a person has typed.
    """
    known = ("account_id", "uuid", "nickname", "username", "display_name")
    return name.casefold() in {str(account[one]).casefold() for one in known if account.get(one)}


def reviewers(members: list[Json], me: Json, wanted: Iterable[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Finds the wanted reviewers of a pull request among the members of a workspace. Returns two lists: the
    found reviewers in the form that Bitbucket's API expects, and one sentence for the user about each wanted
    reviewer who was left out. A wanted reviewer is left out if no member or more than one member matches, or
    if the reviewer is the author.

    `me`: the author of the pull request. `wanted`: names or ids.
    """
    found: list[dict[str, str]] = []
    left_out: list[str] = []
    for name in dict.fromkeys(wanted):
        meant = {one["uuid"] for one in members if is_called(one, name)}
        if meant == {me["uuid"]}:
            left_out.append("Authors cannot review their own pull requests at Bitbucket: you were left out.")
        elif len(meant) == 1:
            found.append({"uuid": meant.pop()})
        else:
            why = "more than one member" if meant else "no member"
            left_out.append(f"The workspace has {why} called {name}, who was left out of the reviewers.")
    return found, left_out


def repository(found: Json) -> HostRepository:
    web_url = _link(found, "html") or f"https://bitbucket.org/{found['full_name']}"
    kind = (found.get("owner") or {}).get("type")
    return HostRepository(
        id=found["uuid"],
        full_name=found["full_name"],
        clone_url=f"{web_url}.git",
        web_url=web_url,
        is_public=not found["is_private"],
        default_branch=(found.get("mainbranch") or {}).get("name"),
        owner_kind=OwnerKind.USER if kind == "user" else OwnerKind.ORGANIZATION,
        pushed_at=found.get("updated_on"),
        parent=(found.get("parent") or {}).get("full_name"),
    )


def branch(found: Json) -> HostBranch:
    target = found["target"]
    return HostBranch(name=found["name"], commit=target["hash"], pushed_at=target.get("date"))


def pull_request(found: Json) -> PullRequest:
    source = found["source"]
    body = found.get("description")
    return PullRequest(
        number=found["id"],
        title=found["title"],
        body=(found.get("summary") or {}).get("raw") or "" if body is None else body,
        url=_link(found, "html") or "",
        state=_STATES.get(found["state"], PullRequestState.CLOSED),
        is_draft=bool(found.get("draft")),
        head=source["branch"]["name"],
        base=found["destination"]["branch"]["name"],
        head_repository=(source.get("repository") or {}).get("full_name"),
        head_commit=(source.get("commit") or {}).get("hash"),
        author=login(found.get("author")),
        mergeability=_mergeability(found),
        reviewers=tuple(login(one) for one in found.get("reviewers") or ()),
        updated_at=found.get("updated_on"),
    )


def _mergeability(found: Json) -> Mergeability:
    if found["state"] != "OPEN" or found.get("mergeable") is None:
        return Mergeability.UNKNOWN
    return Mergeability.CLEAN if found["mergeable"] else Mergeability.BLOCKED


def title(text: str) -> str:
    return text if len(text) <= MAX_TITLE_CHARACTERS else text[: MAX_TITLE_CHARACTERS - 1] + "…"


def changed_fields(changes: PullRequestChanges, max_characters: int) -> Json:
    """Returns the changed fields of a pull request in the form that Bitbucket's API expects. The state (open
    or closed) is not included. `max_characters`: the length to which the description is cut.
    """
    fields = {
        "title": None if changes.title is None else title(changes.title),
        "description": None if changes.body is None else cut_to(changes.body, max_characters),
        "destination": None if changes.base is None else {"branch": {"name": changes.base}},
        "draft": changes.is_draft,
    }
    return {name: value for name, value in fields.items() if value is not None}


def comment(found: Json) -> Comment:
    return Comment(
        id=str(found["id"]),
        author=login(found.get("user")),
        body=(found.get("content") or {}).get("raw") or "",
        created_at=found.get("created_on"),
        url=_link(found, "html"),
    )


def threads(found: list[Json]) -> list[ReviewThread]:
    """Groups the comments on lines of a pull request into review threads. The id of a thread is the id of its
    first comment.
    """
    parents = {one["id"]: (one.get("parent") or {}).get("id") for one in found}
    answers: dict[int, list[Json]] = {}
    for one in sorted(found, key=lambda row: row["id"]):
        answers.setdefault(_root(one["id"], parents), []).append(one)
    return [
        ReviewThread(
            id=str(one["id"]),
            path=one["inline"].get("path"),
            line=one["inline"].get("to") or one["inline"].get("from"),
            is_resolved=one.get("resolution") is not None,
            can_be_resolved=True,
            comments=tuple(comment(answer) for answer in answers[one["id"]] if not answer.get("deleted")),
        )
        for one in found
        if one.get("inline") and parents[one["id"]] is None and not one.get("deleted")
    ]


def _root(comment_id: int, parents: dict[int, int | None]) -> int:
    for _ in range(len(parents)):
        above = parents.get(comment_id)
        if above is None:
            break
        comment_id = above
    return comment_id


def reviews(found: Json) -> list[Review]:
    return [
        Review(author=login(one.get("user")), verdict=_VERDICTS[one["state"]])
        for one in found.get("participants") or ()
        if one.get("state") in _VERDICTS
    ]


def status(found: Json) -> Check:
    url = found.get("url")
    match = _PIPELINE.search(url or "")
    return Check(
        id=match[1] if match else None,
        name=found.get("name") or found["key"],
        state=_CHECK_STATES.get(found["state"], CheckState.PENDING),
        url=url,
        summary=found.get("description") or "",
    )


def has_failed(step: Json) -> bool:
    result = (step.get("state") or {}).get("result") or {}
    return result.get("name") in {"FAILED", "ERROR"}


def reason_of(said: Any) -> str:
    """Returns the error message in an error reply of Bitbucket, with its detail and the messages about single
    fields. `said`: the JSON of the reply.
    """
    error = said.get("error") if isinstance(said, dict) else None
    if not isinstance(error, dict):
        return str(error) if isinstance(error, str) else ""
    fields = error.get("fields")
    words = [str(error.get("message") or ""), str(error.get("detail") or "")]
    if isinstance(fields, dict):
        words += [f"{name}: {', '.join(map(str, _list(value)))}" for name, value in fields.items()]
    return "; ".join(word for word in words if word)


def missing_scope(said: Any) -> str | None:
    """Returns the names of the permissions (scopes) that a token lacks, separated by commas. Returns None if
    the reply names none. `said`: the JSON body of Bitbucket's error reply.
    """
    error = said.get("error") if isinstance(said, dict) else None
    detail = error.get("detail") if isinstance(error, dict) else None
    required = detail.get("required") if isinstance(detail, dict) else None
    return ", ".join(map(str, _list(required))) if required else None


def rows(found: Any) -> list[Any]:
    """Returns the items of a list from Bitbucket's reply. `found`: the parsed JSON of the reply. It is a
    list, or an object with a page of the list in the field `values`.
    """
    items: list[Any] = found.get("values", []) if isinstance(found, dict) else found
    return items


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _link(found: Json, name: str) -> str | None:
    return ((found.get("links") or {}).get(name) or {}).get("href")
