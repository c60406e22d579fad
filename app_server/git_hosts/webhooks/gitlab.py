"""Parses the webhooks of GitLab. Source: https://docs.gitlab.com/user/project/integrations/webhook_events/.
Does no I/O.
"""

from app_server.git_hosts.webhooks.events import (
    EventKind,
    HostEvent,
    Json,
    branch_of,
    paths_of,
    text_or_none,
)

_ACTIONS = {
    "open": EventKind.PULL_REQUEST_OPENED,
    "close": EventKind.PULL_REQUEST_CLOSED,
    "merge": EventKind.PULL_REQUEST_MERGED,
}


def events(_event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from GitLab to HostEvents, one for each reported change, and
    returns them. Returns an empty list for changes that Slipway does not use. `_event` is not used, because
    the body states the kind of the change.
    """
    if "project" not in body:
        return []
    user = body.get("user") or {}
    common = {
        "repository": body["project"]["path_with_namespace"],
        "actor": user.get("username") or body.get("user_username") or "ghost",
        "actor_id": text_or_none(user.get("id", body.get("user_id"))),
    }
    found: list[HostEvent] = []
    match body.get("object_kind"):
        case "issue" | "work_item":
            found = _of_item(common, body, is_pull=False)
        case "merge_request":
            found = _of_item(common, body, is_pull=True)
        case "note":
            found = _note(common, body)
        case "pipeline":
            found = _pipeline(common, body)
        case "push":
            found = _push(common, body)
    return found


def _of_item(common: Json, body: Json, *, is_pull: bool) -> list[HostEvent]:
    item = body["object_attributes"]
    known = {**common, "number": item["iid"], "is_pull_request": is_pull, "url": item.get("url")}
    changes = body.get("changes") or {}
    found = [
        HostEvent(kind=EventKind.ISSUE_LABELLED, **known, label=name)
        for name in _added(changes.get("labels"), "title")
    ]
    found += [
        HostEvent(kind=EventKind.ISSUE_ASSIGNED, **known, assignee=name)
        for name in _added(changes.get("assignees"), "username")
    ]
    action = item.get("action")
    if is_pull and action in _ACTIONS:
        found.append(HostEvent(kind=_ACTIONS[action], **known))
    elif not is_pull and action == "close":
        found.append(HostEvent(kind=EventKind.ISSUE_CLOSED, **known))
    return found


def _added(change: Json | None, name: str) -> list[str]:
    if not change:
        return []
    before = {one[name] for one in change.get("previous") or ()}
    return [one[name] for one in change.get("current") or () if one[name] not in before]


def _note(common: Json, body: Json) -> list[HostEvent]:
    note = body["object_attributes"]
    item = body.get("merge_request") or body.get("issue")
    # `system`: GitLab writes what was done to an item as notes, too.
    if note.get("system") or note.get("action", "create") != "create" or item is None:
        return []
    in_review = bool(note.get("position"))
    found = HostEvent(
        kind=EventKind.REVIEW_COMMENT if in_review else EventKind.COMMENT,
        **common,
        number=item["iid"],
        is_pull_request="merge_request" in body,
        text=note.get("note") or "",
        comment_id=str(note["id"]),
        thread_id=text_or_none(note.get("discussion_id")),
        url=note.get("url"),
    )
    return [found]


def _pipeline(common: Json, body: Json) -> list[HostEvent]:
    pipeline, merge_request = body["object_attributes"], body.get("merge_request")
    if pipeline["status"] != "failed":
        return []
    found = HostEvent(
        kind=EventKind.CHECK_FAILED,
        **common,
        number=merge_request["iid"] if merge_request else None,
        is_pull_request=bool(merge_request),
        branch=pipeline.get("ref"),
        commit=pipeline["sha"],
        url=pipeline.get("url"),
    )
    return [found]


def _push(common: Json, body: Json) -> list[HostEvent]:
    branch = branch_of(body["ref"])
    if branch is None or not body["after"].strip("0"):
        return []
    paths = paths_of(body.get("commits") or [])
    return [HostEvent(kind=EventKind.PUSHED, **common, branch=branch, commit=body["after"], paths=paths)]
