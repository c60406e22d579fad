"""Parses the webhooks of Bitbucket Cloud. Does no I/O.

Source: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/.
"""

from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent, Json, text_or_none

_PULLS = {
    "pullrequest:created": EventKind.PULL_REQUEST_OPENED,
    "pullrequest:fulfilled": EventKind.PULL_REQUEST_MERGED,
    "pullrequest:rejected": EventKind.PULL_REQUEST_CLOSED,
}
_VERDICTS = {
    "pullrequest:approved": ReviewVerdict.APPROVED,
    "pullrequest:changes_request_created": ReviewVerdict.CHANGES_REQUESTED,
}
_STATUSES = frozenset(("repo:commit_status_created", "repo:commit_status_updated"))


def events(event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from Bitbucket Cloud to HostEvents, one for each reported
    change, and returns them. Returns an empty list for changes that Slipway does not use. `event`: the value
    of the header `X-Event-Key`.
    """
    if "repository" not in body:
        return []
    actor = body.get("actor") or {}
    common = {
        "repository": body["repository"]["full_name"],
        "actor": actor.get("nickname") or actor.get("display_name") or "ghost",
        "actor_id": text_or_none(actor.get("uuid")),
    }
    if event in _STATUSES:
        return _status(common, body["commit_status"])
    if event == "repo:push":
        return _push(common, body["push"])
    return _of_pull(event, body, common) if "pullrequest" in body else []


def _of_pull(event: str, body: Json, common: Json) -> list[HostEvent]:
    pull = body["pullrequest"]
    known = {**common, "number": pull["id"], "is_pull_request": True, "url": _page(pull)}
    if event in _PULLS:
        return [HostEvent(kind=_PULLS[event], **known)]
    if event in _VERDICTS:
        return [HostEvent(kind=EventKind.REVIEW, **known, verdict=_VERDICTS[event])]
    return [_comment(known, body["comment"])] if event == "pullrequest:comment_created" else []


def _comment(known: Json, comment: Json) -> HostEvent:
    return HostEvent(
        kind=EventKind.REVIEW_COMMENT if comment.get("inline") else EventKind.COMMENT,
        **{**known, "url": _page(comment)},
        text=(comment.get("content") or {}).get("raw") or "",
        comment_id=str(comment["id"]),
        thread_id=str((comment.get("parent") or comment)["id"]),
    )


def _status(common: Json, status: Json) -> list[HostEvent]:
    if status["state"] != "FAILED":
        return []
    commit = status["links"]["commit"]["href"].rpartition("/")[2]
    url, branch = status.get("url"), status.get("refname")
    return [HostEvent(kind=EventKind.CHECK_FAILED, **common, branch=branch, commit=commit, url=url)]


def _push(common: Json, push: Json) -> list[HostEvent]:
    new = [one["new"] for one in push["changes"] if (one.get("new") or {}).get("type") == "branch"]
    kind = EventKind.PUSHED
    return [HostEvent(kind=kind, **common, branch=one["name"], commit=one["target"]["hash"]) for one in new]


def _page(found: Json) -> str | None:
    url = ((found.get("links") or {}).get("html") or {}).get("href")
    return text_or_none(url)
