"""Parses the service hooks of Azure DevOps, which are its webhooks. Does no I/O.

Service hooks are not signed: the sender only sends a password, which does not prove that the contents are
true. Therefore Slipway must read the work item or pull request through the API before it acts on an event.
Source: https://learn.microsoft.com/en-us/azure/devops/service-hooks/events.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

from app_server.git.providers import GitProvider
from app_server.git_hosts.plain_text import from_html
from app_server.git_hosts.repository_names import name_in
from app_server.git_hosts.webhooks.events import EventKind, HostEvent, Json, branch_of, text_or_none

_CLOSED_STATES = frozenset(("Closed", "Done", "Removed", "Resolved"))
_PULLS = {"completed": EventKind.PULL_REQUEST_MERGED, "abandoned": EventKind.PULL_REQUEST_CLOSED}
_OF_USERS = ("text", None)


def events(event: str, body: Json) -> list[HostEvent]:
    """Converts the body of a webhook request from Azure DevOps to HostEvents, one for each reported change,
    and returns them. Returns an empty list for changes that Slipway does not use. `event`: the field
    `eventType` of the body.
    """
    resource = body["resource"]
    found: list[HostEvent] = []
    match event:
        case "git.pullrequest.created":
            found = [HostEvent(kind=EventKind.PULL_REQUEST_OPENED, **_pull(resource, resource["createdBy"]))]
        case "git.pullrequest.updated" if resource["status"] in _PULLS:
            who = resource.get("closedBy") or resource["createdBy"]
            found = [HostEvent(kind=_PULLS[resource["status"]], **_pull(resource, who))]
        case "ms.vss-code.git-pullrequest-comment-event":
            found = _comment(resource)
        case "workitem.updated":
            found = _work_item(resource)
        case "workitem.deleted":
            found = [HostEvent(kind=EventKind.ISSUE_CLOSED, **_item(resource))]
        case "workitem.commented":
            text = from_html(str(resource["fields"].get("System.History") or ""))
            found = [HostEvent(kind=EventKind.COMMENT, **_item(resource), text=text)]
        case "build.complete" if resource["result"] == "failed":
            found = [_build(resource)]
        case "git.push":
            found = _push(resource)
    return found


def _user(found: Json) -> Json:
    name = found.get("uniqueName") or found.get("displayName") or "ghost"
    return {"actor": name, "actor_id": text_or_none(found.get("id"))}


def _repository(found: Json) -> str:
    path = urlsplit(found["remoteUrl"]).path
    return name_in(GitProvider.AZURE_DEVOPS, path)


def _pull(pull: Json, who: Json) -> Json:
    return {
        **_user(who),
        "repository": _repository(pull["repository"]),
        "number": pull["pullRequestId"],
        "is_pull_request": True,
        "url": ((pull.get("_links") or {}).get("web") or {}).get("href"),
    }


def _comment(resource: Json) -> list[HostEvent]:
    comment = resource["comment"]
    if comment.get("commentType") not in _OF_USERS or comment.get("isDeleted"):
        return []
    thread = ((comment.get("_links") or {}).get("threads") or {}).get("href")
    found = HostEvent(
        kind=EventKind.COMMENT,
        **_pull(resource["pullRequest"], comment["author"]),
        text=comment.get("content") or "",
        comment_id=str(comment["id"]),
        thread_id=thread.rpartition("/")[2] if thread else None,
    )
    return [found]


def _organization(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.endswith(".visualstudio.com"):
        return host.partition(".")[0]
    return unquote(parts.path.strip("/").partition("/")[0])


def _item(resource: Json) -> Json:
    revision = resource.get("revision") or resource
    by = resource.get("revisedBy") or {"displayName": revision["fields"].get("System.ChangedBy")}
    project = revision["fields"]["System.TeamProject"]
    return {
        **_user(by),
        "repository": f"{_organization(resource['url'])}/{project}",
        "number": resource.get("workItemId") or resource["id"],
        "url": (((revision.get("_links") or resource.get("_links") or {}).get("html")) or {}).get("href"),
    }


def _work_item(resource: Json) -> list[HostEvent]:
    changes, known = resource.get("fields") or {}, _item(resource)
    new = {name: one.get("newValue") for name, one in changes.items() if isinstance(one, dict)}
    before = _tags((changes.get("System.Tags") or {}).get("oldValue"))
    found = [
        HostEvent(kind=EventKind.ISSUE_LABELLED, **known, label=tag)
        for tag in _tags(new.get("System.Tags"))
        if tag not in before
    ]
    if assignee := new.get("System.AssignedTo"):
        name = assignee.get("uniqueName") if isinstance(assignee, dict) else str(assignee)
        found.append(HostEvent(kind=EventKind.ISSUE_ASSIGNED, **known, assignee=name))
    if new.get("System.State") in _CLOSED_STATES:
        found.append(HostEvent(kind=EventKind.ISSUE_CLOSED, **known))
    return found


def _tags(text: Any) -> list[str]:
    return [tag.strip() for tag in str(text or "").split(";") if tag.strip()]


def _build(resource: Json) -> HostEvent:
    ref = resource.get("sourceBranch") or ""
    number = ref.split("/")[2] if ref.startswith("refs/pull/") else ""
    return HostEvent(
        kind=EventKind.CHECK_FAILED,
        **_user(resource.get("requestedFor") or {}),
        repository=f"{_organization(resource['url'])}/{resource['project']['name']}",
        number=int(number) if number.isdigit() else None,
        is_pull_request=number.isdigit(),
        branch=branch_of(ref),
        commit=resource.get("sourceVersion"),
        url=((resource.get("_links") or {}).get("web") or {}).get("href"),
    )


def _push(resource: Json) -> list[HostEvent]:
    common = {**_user(resource["pushedBy"]), "repository": _repository(resource["repository"])}
    return [
        HostEvent(kind=EventKind.PUSHED, **common, branch=branch_of(one["name"]), commit=one["newObjectId"])
        for one in resource["refUpdates"]
        if branch_of(one["name"]) and one["newObjectId"].strip("0")
    ]
