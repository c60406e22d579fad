"""Parses the webhooks of Forgejo and Gitea. Source: https://forgejo.org/docs/latest/user/webhooks/. Does no
I/O.
"""

from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import (
    EventKind,
    HostEvent,
    Json,
    branch_of,
    paths_of,
    text_or_none,
)

_FAILED = frozenset(("failure", "error"))


def events(event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from Forgejo or Gitea to HostEvents, one for each reported
    change, and returns them. Returns an empty list for changes that Slipway does not use. `event`: the value
    of the header `X-Forgejo-Event` or `X-Gitea-Event`.

    Some data are missing in the requests. A request about a review does not contain the review's comments on
    lines of code. A request about a failed commit status does not contain the name of the branch.

    A request about changed labels or assignees contains all present labels or assignees, and not which ones
    are new. Therefore the function returns one event for each label or assignee that the issue or pull
    request has after the change. Exception: Gitea states the new labels, so only these get events.
    """
    if "repository" not in body:
        return []
    sender = body.get("sender") or {}
    common = {
        "repository": body["repository"]["full_name"],
        "actor": sender.get("login") or "ghost",
        "actor_id": text_or_none(sender.get("id")),
    }
    found: list[HostEvent] = []
    match event, body.get("action"):
        case "push", _:
            found = _push(common, body)
        case "status", _:
            found = _status(common, body)
        case "workflow_run", "completed":
            found = _workflow_run(common, body["workflow_run"])
        case _, "reviewed":
            found = [_review(common, body)]
        case _, "created" if "comment" in body:
            found = [_comment(common, body)]
        case _, _ if "comment" not in body and (body.get("pull_request") or body.get("issue")):
            found = _of_item(common, body)
    return found


def _of_item(common: Json, body: Json) -> list[HostEvent]:
    is_pull = "pull_request" in body
    item = body["pull_request"] if is_pull else body["issue"]
    known = {
        **common,
        "number": item["number"],
        "is_pull_request": is_pull or bool(item.get("pull_request")),
        "url": item.get("html_url"),
    }
    match body.get("action"):
        case "label_updated":
            added = (body.get("changes") or {}).get("added_labels")
            labels = item.get("labels") or () if added is None else added
            return [HostEvent(kind=EventKind.ISSUE_LABELLED, **known, label=one["name"]) for one in labels]
        case "assigned":
            users = item.get("assignees") or ([item["assignee"]] if item.get("assignee") else [])
            return [HostEvent(kind=EventKind.ISSUE_ASSIGNED, **known, assignee=one["login"]) for one in users]
        case "opened" if is_pull:
            return [HostEvent(kind=EventKind.PULL_REQUEST_OPENED, **known)]
        case "closed" if is_pull:
            merged, closed = EventKind.PULL_REQUEST_MERGED, EventKind.PULL_REQUEST_CLOSED
            return [HostEvent(kind=merged if item.get("merged") else closed, **known)]
        case "closed":
            return [HostEvent(kind=EventKind.ISSUE_CLOSED, **known)]
    return []


def _comment(common: Json, body: Json) -> HostEvent:
    comment, item = body["comment"], body.get("issue") or body["pull_request"]
    return HostEvent(
        kind=EventKind.COMMENT,
        **common,
        number=item["number"],
        is_pull_request=bool(body.get("is_pull") or item.get("pull_request") or "pull_request" in body),
        text=comment.get("body") or "",
        comment_id=str(comment["id"]),
        url=comment.get("html_url"),
    )


def _review(common: Json, body: Json) -> HostEvent:
    review, pull = body["review"], body["pull_request"]
    kind = str(review.get("type", ""))
    if "approved" in kind:
        verdict = ReviewVerdict.APPROVED
    else:
        verdict = ReviewVerdict.CHANGES_REQUESTED if "rejected" in kind else ReviewVerdict.COMMENTED
    return HostEvent(
        kind=EventKind.REVIEW,
        **common,
        number=pull["number"],
        is_pull_request=True,
        text=review.get("content") or "",
        verdict=verdict,
        leaves_out_comments=True,
        url=pull.get("html_url"),
    )


def _status(common: Json, body: Json) -> list[HostEvent]:
    if body["state"] not in _FAILED:
        return []
    url = body.get("target_url") or None
    return [HostEvent(kind=EventKind.CHECK_FAILED, **common, commit=body["sha"], url=url)]


def _workflow_run(common: Json, run: Json) -> list[HostEvent]:
    if run.get("conclusion") not in _FAILED:
        return []
    found = HostEvent(
        kind=EventKind.CHECK_FAILED,
        **common,
        branch=run.get("head_branch"),
        commit=run["head_sha"],
        url=run.get("html_url"),
    )
    return [found]


def _push(common: Json, body: Json) -> list[HostEvent]:
    branch = branch_of(body["ref"])
    if branch is None or not body["after"].strip("0"):
        return []
    found = HostEvent(
        kind=EventKind.PUSHED,
        **common,
        branch=branch,
        commit=body["after"],
        paths=paths_of(body.get("commits") or []),
        url=body.get("compare_url"),
    )
    return [found]
