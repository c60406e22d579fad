"""Tests of reading webhooks of Bitbucket, Azure DevOps, Forgejo and Gitea: what they contain, and which are
refused.
"""

import pytest

from app_server.core.errors import BadRequest
from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind
from app_server.git_hosts.webhooks.reading import read
from app_server.http.json_limits import MAX_VALUES
from tests.app_server.git_hosts.webhooks.samples import ZEROS, Values, github, seen

BITBUCKET: Values = {
    "actor": {"nickname": "ada", "uuid": "{a}"},
    "repository": {"full_name": "team/harbour"},
    "pullrequest": {"id": 7, "links": {"html": {"href": "https://bitbucket.org/7"}}},
}


@pytest.mark.parametrize(
    ("event", "more", "kind"),
    [
        ("pullrequest:created", {}, EventKind.PULL_REQUEST_OPENED),
        ("pullrequest:fulfilled", {}, EventKind.PULL_REQUEST_MERGED),
        ("pullrequest:rejected", {}, EventKind.PULL_REQUEST_CLOSED),
        ("pullrequest:approved", {}, EventKind.REVIEW),
        ("pullrequest:comment_created", {"comment": {"id": 5, "content": {"raw": "Hi"}}}, EventKind.COMMENT),
        (
            "pullrequest:comment_created",
            {"comment": {"id": 5, "content": {"raw": "Hi"}, "inline": {"to": 4}, "parent": {"id": 3}}},
            EventKind.REVIEW_COMMENT,
        ),
        (
            "repo:commit_status_updated",
            {"commit_status": {"state": "FAILED", "links": {"commit": {"href": "https://x/commit/abc"}}}},
            EventKind.CHECK_FAILED,
        ),
        (
            "repo:push",
            {
                "push": {
                    "changes": [
                        {"new": None},
                        {"new": {"type": "tag", "name": "v1"}},
                        {"new": {"type": "branch", "name": "fix/ä", "target": {"hash": "abc"}}},
                    ]
                }
            },
            EventKind.PUSHED,
        ),
        ("pullrequest:updated", {}, None),
        ("repo:fork", {}, None),
    ],
)
def test_bitbucket_cloud(event: str, more: Values, kind: EventKind | None) -> None:
    events = seen(GitProvider.BITBUCKET, {**BITBUCKET, **more}, x_event_key=event, x_request_uuid="d-1")
    assert [one.kind for one in events] == ([kind] if kind else [])
    for one in events:
        assert (one.repository, one.actor, one.actor_id, one.delivery_id) == (
            "team/harbour",
            "ada",
            "{a}",
            "d-1",
        )
    if kind is EventKind.REVIEW_COMMENT:
        assert (events[0].text, events[0].comment_id, events[0].thread_id) == ("Hi", "5", "3")


DC_REPOSITORY: Values = {"slug": "harbour", "project": {"key": "TEAM"}}


DC: Values = {
    "actor": {"name": "ada", "id": 7},
    "pullRequest": {"id": 7, "toRef": {"repository": DC_REPOSITORY}},
}


@pytest.mark.parametrize(
    ("event", "body", "kind"),
    [
        ("pr:opened", DC, EventKind.PULL_REQUEST_OPENED),
        ("pr:merged", DC, EventKind.PULL_REQUEST_MERGED),
        ("pr:declined", DC, EventKind.PULL_REQUEST_CLOSED),
        ("pr:deleted", DC, EventKind.PULL_REQUEST_CLOSED),
        ("pr:reviewer:changes_requested", DC, EventKind.REVIEW),
        (
            "pr:comment:added",
            {**DC, "comment": {"id": 5, "text": "Hi"}, "commentParentId": 3},
            EventKind.COMMENT,
        ),
        (
            "repo:refs_changed",
            {
                "actor": DC["actor"],
                "repository": DC_REPOSITORY,
                "changes": [
                    {"ref": {"id": "refs/heads/fix/ä"}, "toHash": "abc", "type": "UPDATE"},
                    {"ref": {"id": "refs/heads/old"}, "toHash": ZEROS, "type": "DELETE"},
                    {"ref": {"id": "refs/tags/v1"}, "toHash": "abc", "type": "ADD"},
                ],
            },
            EventKind.PUSHED,
        ),
        ("diagnostics:ping", {"test": True}, None),
        ("pr:modified", DC, None),
    ],
)
def test_bitbucket_data_center(event: str, body: Values, kind: EventKind | None) -> None:
    events = seen(GitProvider.BITBUCKET_DATA_CENTER, body, x_event_key=event, x_request_id="d-1")
    assert [one.kind for one in events] == ([kind] if kind else [])
    for one in events:
        assert (one.repository, one.actor, one.delivery_id) == ("TEAM/harbour", "ada", "d-1")
    if kind is EventKind.COMMENT:
        assert (events[0].text, events[0].thread_id) == ("Hi", "3")


AZURE_USER: Values = {"uniqueName": "ada@example.org", "id": "u7"}


AZURE_REPOSITORY: Values = {"remoteUrl": "https://dev.azure.com/org/The%20project/_git/harbour"}


AZURE_PULL: Values = {
    "pullRequestId": 7,
    "status": "active",
    "createdBy": AZURE_USER,
    "repository": AZURE_REPOSITORY,
}


AZURE_ITEM: Values = {
    "workItemId": 9,
    "url": "https://dev.azure.com/org/_apis/wit/workItems/9/updates/2",
    "revisedBy": AZURE_USER,
    "revision": {"fields": {"System.TeamProject": "The project"}},
}


AZURE_COMMENT: Values = {
    "id": 5,
    "commentType": "text",
    "content": "Hi",
    "author": AZURE_USER,
    "_links": {"threads": {"href": "https://dev.azure.com/org/_apis/git/pullRequests/7/threads/3"}},
}


@pytest.mark.parametrize(
    ("event", "resource", "kinds"),
    [
        ("git.pullrequest.created", AZURE_PULL, [EventKind.PULL_REQUEST_OPENED]),
        ("git.pullrequest.updated", AZURE_PULL, []),
        ("git.pullrequest.updated", {**AZURE_PULL, "status": "completed"}, [EventKind.PULL_REQUEST_MERGED]),
        ("git.pullrequest.updated", {**AZURE_PULL, "status": "abandoned"}, [EventKind.PULL_REQUEST_CLOSED]),
        (
            "ms.vss-code.git-pullrequest-comment-event",
            {"comment": AZURE_COMMENT, "pullRequest": AZURE_PULL},
            [EventKind.COMMENT],
        ),
        (
            "ms.vss-code.git-pullrequest-comment-event",
            {"comment": {**AZURE_COMMENT, "commentType": "system"}, "pullRequest": AZURE_PULL},
            [],
        ),
        (
            "workitem.updated",
            {
                **AZURE_ITEM,
                "fields": {
                    "System.Tags": {"oldValue": "a", "newValue": "a; slipway"},
                    "System.AssignedTo": {"newValue": AZURE_USER},
                    "System.State": {"oldValue": "Active", "newValue": "Closed"},
                },
            },
            [EventKind.ISSUE_LABELLED, EventKind.ISSUE_ASSIGNED, EventKind.ISSUE_CLOSED],
        ),
        (
            "workitem.deleted",
            {
                "id": 9,
                "url": "https://dev.azure.com/org/_apis/wit/recyclebin/9",
                "fields": {"System.TeamProject": "The project", "System.ChangedBy": "Ada <ada@example.org>"},
            },
            [EventKind.ISSUE_CLOSED],
        ),
        (
            "workitem.commented",
            {
                "id": 9,
                "url": "https://org.visualstudio.com/_apis/wit/workItems/9",
                "fields": {
                    "System.TeamProject": "The project",
                    "System.ChangedBy": "Ada <ada@example.org>",
                    "System.History": "<div>Do it &amp; more</div>",
                },
            },
            [EventKind.COMMENT],
        ),
        (
            "build.complete",
            {
                "result": "failed",
                "url": "https://dev.azure.com/org/p-id/_apis/build/Builds/1",
                "project": {"name": "The project"},
                "sourceBranch": "refs/pull/7/merge",
                "sourceVersion": "abc",
                "requestedFor": AZURE_USER,
            },
            [EventKind.CHECK_FAILED],
        ),
        (
            "git.push",
            {
                "pushedBy": AZURE_USER,
                "repository": AZURE_REPOSITORY,
                "refUpdates": [
                    {"name": "refs/heads/fix/ä", "newObjectId": "abc"},
                    {"name": "refs/heads/old", "newObjectId": ZEROS},
                    {"name": "refs/tags/v1", "newObjectId": "abc"},
                ],
            },
            [EventKind.PUSHED],
        ),
        ("tfvc.checkin", {}, []),
    ],
)
def test_azure_devops(event: str, resource: Values, kinds: list[EventKind]) -> None:
    body = {"id": "d-1", "eventType": event, "resource": resource}
    events = seen(GitProvider.AZURE_DEVOPS, body)
    assert [one.kind for one in events] == kinds
    for one in events:
        assert one.delivery_id == "d-1"
        assert one.actor.endswith(("ada@example.org", "ada@example.org>"))
        is_of_project = event.startswith(("workitem", "build"))
        assert one.repository == ("org/The project" if is_of_project else "org/The project/harbour")
    if event == "workitem.commented":
        assert (events[0].number, events[0].text) == (9, "Do it & more")
    if event == "workitem.updated":
        assert (events[0].label, events[1].assignee) == ("slipway", "ada@example.org")
    if event == "build.complete":
        assert (events[0].number, events[0].is_pull_request) == (7, True)
    if kinds == [EventKind.COMMENT] and event.startswith("ms."):
        assert (events[0].thread_id, events[0].number) == ("3", 7)


FORGEJO: Values = {
    "repository": {"full_name": "team/harbour"},
    "sender": {"login": "ada", "id": 7},
}


ISSUE: Values = {
    "number": 9,
    "labels": [{"name": "slipway"}],
    "assignees": [{"login": "bob"}],
    "pull_request": None,
}


@pytest.mark.parametrize(
    ("event", "more", "kind"),
    [
        ("issues", {"action": "label_updated", "issue": ISSUE}, EventKind.ISSUE_LABELLED),
        (
            "issues",
            {"action": "label_updated", "issue": ISSUE, "changes": {"added_labels": [{"name": "slipway"}]}},
            EventKind.ISSUE_LABELLED,
        ),
        ("issues", {"action": "label_updated", "issue": ISSUE, "changes": {"added_labels": []}}, None),
        ("issues", {"action": "label_cleared", "issue": ISSUE}, None),
        ("issues", {"action": "assigned", "issue": ISSUE}, EventKind.ISSUE_ASSIGNED),
        ("issues", {"action": "closed", "issue": ISSUE}, EventKind.ISSUE_CLOSED),
        (
            "issue_comment",
            {"action": "created", "issue": ISSUE, "is_pull": False, "comment": {"id": 5, "body": "Hi"}},
            EventKind.COMMENT,
        ),
        ("issue_comment", {"action": "edited", "issue": ISSUE, "comment": {"id": 5}}, None),
        ("pull_request", {"action": "opened", "pull_request": {"number": 7}}, EventKind.PULL_REQUEST_OPENED),
        (
            "pull_request",
            {"action": "closed", "pull_request": {"number": 7, "merged": True}},
            EventKind.PULL_REQUEST_MERGED,
        ),
        ("pull_request", {"action": "closed", "pull_request": {"number": 7}}, EventKind.PULL_REQUEST_CLOSED),
        (
            "pull_request_rejected",
            {
                "action": "reviewed",
                "pull_request": {"number": 7},
                "review": {"type": "pull_request_review_rejected", "content": "No"},
            },
            EventKind.REVIEW,
        ),
        ("status", {"state": "failure", "sha": "abc"}, EventKind.CHECK_FAILED),
        ("status", {"state": "success", "sha": "abc"}, None),
        (
            "workflow_run",
            {"action": "completed", "workflow_run": {"conclusion": "failure", "head_sha": "abc"}},
            EventKind.CHECK_FAILED,
        ),
        ("push", {"ref": "refs/heads/fix/ä", "after": "abc", "commits": None}, EventKind.PUSHED),
        ("push", {"ref": "refs/heads/fix/ä", "after": ZEROS}, None),
        ("release", {"action": "published"}, None),
    ],
)
@pytest.mark.parametrize("name", ["forgejo", "gitea"])
def test_forgejo_and_gitea(name: str, event: str, more: Values, kind: EventKind | None) -> None:
    headers = {f"x_{name}_event": event, f"x_{name}_delivery": "d-1"}
    events = seen(GitProvider.FORGEJO, {**FORGEJO, **more}, **headers)
    assert [one.kind for one in events] == ([kind] if kind else [])
    for one in events:
        assert (one.repository, one.actor, one.actor_id, one.delivery_id) == (
            "team/harbour",
            "ada",
            "7",
            "d-1",
        )
    if kind is EventKind.REVIEW:
        assert (events[0].verdict, events[0].text) == (ReviewVerdict.CHANGES_REQUESTED, "No")


def test_a_repeated_delivery_has_the_same_id() -> None:
    assert github("issues.labeled") == github("issues.labeled")


@pytest.mark.parametrize("provider", list(GitProvider))
@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("application/x-www-form-urlencoded", b"payload=%7B%7D", "webhook_not_json"),
        ("", b"{}", "webhook_not_json"),
        ("application/json", b"", "webhook_unreadable"),
        ("application/json", b'{"a": ', "webhook_unreadable"),
        ("application/json", b"\xff\xfe", "webhook_unreadable"),
        ("application/json", b"[1, 2]", "webhook_unreadable"),
        ("application/json", b"[" * 100_000 + b"]" * 100_000, "webhook_unreadable"),
        ("application/json", b"[" + b"0," * (MAX_VALUES + 1) + b"0]", "webhook_too_large"),
    ],
)
def test_what_cannot_be_read_is_refused(
    provider: GitProvider, content_type: str, body: bytes, code: str
) -> None:
    headers = {"content-type": content_type, "x-github-event": "push", "x-event-key": "repo:push"}
    with pytest.raises(BadRequest) as caught:
        read(provider, headers, body)
    assert caught.value.code == code


@pytest.mark.parametrize("broken", [{"repository": 5}, {"repository": {"full_name": None}, "ref": []}])
def test_fields_of_the_wrong_kind_are_refused(broken: Values) -> None:
    for provider, name in ((GitProvider.GITHUB, "x_github_event"), (GitProvider.FORGEJO, "x_gitea_event")):
        with pytest.raises(BadRequest, match="cannot be read"):
            seen(provider, broken, **{name: "push"})
