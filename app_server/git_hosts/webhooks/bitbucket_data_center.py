"""Parses the webhooks of Bitbucket Data Center. Does no I/O. The host sends no webhooks for builds.

Source: https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html.
"""

from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent, Json, branch_of, text_or_none

_PULLS = {
    "pr:opened": EventKind.PULL_REQUEST_OPENED,
    "pr:merged": EventKind.PULL_REQUEST_MERGED,
    "pr:declined": EventKind.PULL_REQUEST_CLOSED,
    "pr:deleted": EventKind.PULL_REQUEST_CLOSED,
}
_VERDICTS = {
    "pr:reviewer:approved": ReviewVerdict.APPROVED,
    "pr:reviewer:changes_requested": ReviewVerdict.CHANGES_REQUESTED,
    "pr:reviewer:needs_work": ReviewVerdict.CHANGES_REQUESTED,
}


def events(event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from Bitbucket Data Center to HostEvents, one for each reported
    change, and returns them. Returns an empty list for changes that Slipway does not use. `event`: the value
    of the header `X-Event-Key`.
    """
    actor = body.get("actor") or {}
    who = {"actor": actor.get("name") or "ghost", "actor_id": text_or_none(actor.get("id"))}
    if event == "repo:refs_changed":
        return _push({**who, "repository": _name(body["repository"])}, body["changes"])
    pull = body.get("pullRequest")
    if pull is None:
        return []
    page = next((one["href"] for one in (pull.get("links") or {}).get("self") or ()), None)
    known = {
        **who,
        "repository": _name(pull["toRef"]["repository"]),
        "number": pull["id"],
        "is_pull_request": True,
        "url": page,
    }
    if event in _PULLS:
        return [HostEvent(kind=_PULLS[event], **known)]
    if event in _VERDICTS:
        return [HostEvent(kind=EventKind.REVIEW, **known, verdict=_VERDICTS[event])]
    if event != "pr:comment:added":
        return []
    comment = body["comment"]
    found = HostEvent(
        kind=EventKind.REVIEW_COMMENT if comment.get("anchor") else EventKind.COMMENT,
        **known,
        text=comment.get("text") or "",
        comment_id=str(comment["id"]),
        thread_id=str(body.get("commentParentId") or comment["id"]),
    )
    return [found]


def _push(common: Json, changes: list[Json]) -> list[HostEvent]:
    new = [one for one in changes if one.get("type") != "DELETE" and branch_of(one["ref"]["id"])]
    kind = EventKind.PUSHED
    return [
        HostEvent(kind=kind, **common, branch=branch_of(one["ref"]["id"]), commit=one["toHash"])
        for one in new
    ]


def _name(repository: Json) -> str:
    return f"{repository['project']['key']}/{repository['slug']}"
