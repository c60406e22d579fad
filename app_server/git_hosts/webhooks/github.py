"""Parses the webhooks of GitHub. Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads.
Does no I/O.
"""

from typing import Any

from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import (
    EventKind,
    HostEvent,
    Json,
    branch_of,
    paths_of,
    text_or_none,
)

_ITEM_ACTIONS = {"labeled": EventKind.ISSUE_LABELLED, "assigned": EventKind.ISSUE_ASSIGNED}
_GONE = frozenset(("deleted", "transferred"))
_FAILED = frozenset(("failure", "timed_out", "error"))
_VERDICTS = {
    "approved": ReviewVerdict.APPROVED,
    "changes_requested": ReviewVerdict.CHANGES_REQUESTED,
    "commented": ReviewVerdict.COMMENTED,
}


def events(event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from GitHub to HostEvents, one for each reported change, and
    returns them. Returns an empty list for changes that Slipway does not use. `event`: the value of the
    header `X-GitHub-Event`.

    Failed checks are read only from the events `check_suite` and `status`. The events `check_run` and
    `workflow_run` are ignored, because GitHub sends them for the same failures.
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
        case "issues", _:
            found = _of_item(common, body, body["issue"], is_pull=False)
        case "pull_request", _:
            found = _of_item(common, body, body["pull_request"], is_pull=True)
        case (("issue_comment" | "pull_request_review_comment"), "created"):
            found = [_comment(common, body)]
        case "pull_request_review", "submitted":
            found = _review(common, body)
        case "check_suite", "completed":
            found = _check_suite(common, body["check_suite"])
        case "status", _:
            found = _status(common, body)
        case "push", _:
            found = _push(common, body)
    return found


def _of_item(common: Json, body: Json, item: Json, *, is_pull: bool) -> list[HostEvent]:
    action = body["action"]
    if action in _ITEM_ACTIONS:
        kind = _ITEM_ACTIONS[action]
    elif action == "closed" or (action in _GONE and not is_pull):
        closed = EventKind.PULL_REQUEST_MERGED if item.get("merged") else EventKind.PULL_REQUEST_CLOSED
        kind = closed if is_pull else EventKind.ISSUE_CLOSED
    elif action == "opened" and is_pull:
        kind = EventKind.PULL_REQUEST_OPENED
    else:
        return []
    found = HostEvent(
        kind=kind,
        **common,
        number=item["number"],
        is_pull_request=is_pull,
        label=(body.get("label") or {}).get("name") if action == "labeled" else None,
        assignee=(body.get("assignee") or {}).get("login") if action == "assigned" else None,
        url=item.get("html_url"),
    )
    return [found]


def _comment(common: Json, body: Json) -> HostEvent:
    comment = body["comment"]
    in_review = "pull_request" in body
    item = body["pull_request"] if in_review else body["issue"]
    thread: Any = comment.get("in_reply_to_id") or comment["id"] if in_review else None
    return HostEvent(
        kind=EventKind.REVIEW_COMMENT if in_review else EventKind.COMMENT,
        **common,
        number=item["number"],
        is_pull_request=in_review or bool(item.get("pull_request")),
        text=comment.get("body") or "",
        comment_id=str(comment["id"]),
        thread_id=text_or_none(thread),
        association=comment.get("author_association"),
        url=comment.get("html_url"),
    )


def _review(common: Json, body: Json) -> list[HostEvent]:
    review = body["review"]
    verdict = _VERDICTS.get(str(review.get("state", "")).lower())
    text = review.get("body") or ""
    # Each review comment brings such an empty review.
    if verdict is None or (verdict is ReviewVerdict.COMMENTED and not text):
        return []
    found = HostEvent(
        kind=EventKind.REVIEW,
        **common,
        number=body["pull_request"]["number"],
        is_pull_request=True,
        text=text,
        verdict=verdict,
        association=review.get("author_association"),
        url=review.get("html_url"),
    )
    return [found]


def _check_suite(common: Json, suite: Json) -> list[HostEvent]:
    if suite.get("conclusion") not in _FAILED:
        return []
    # The list is empty for pull requests from forks.
    numbers = [one["number"] for one in suite.get("pull_requests") or ()] or [None]
    return [
        HostEvent(
            kind=EventKind.CHECK_FAILED,
            **common,
            number=number,
            is_pull_request=number is not None,
            branch=suite.get("head_branch"),
            commit=suite["head_sha"],
        )
        for number in numbers
    ]


def _status(common: Json, body: Json) -> list[HostEvent]:
    if body["state"] not in _FAILED:
        return []
    branch = next((one["name"] for one in body.get("branches") or ()), None)
    kind = EventKind.CHECK_FAILED
    return [HostEvent(kind=kind, **common, branch=branch, commit=body["sha"], url=body.get("target_url"))]


def _push(common: Json, body: Json) -> list[HostEvent]:
    branch = branch_of(body["ref"])
    if branch is None or body.get("deleted"):
        return []
    found = HostEvent(
        kind=EventKind.PUSHED,
        **common,
        branch=branch,
        commit=body["after"],
        paths=paths_of(body.get("commits") or []),
        url=body.get("compare"),
    )
    return [found]
