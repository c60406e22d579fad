"""What deliveries say: the hosts' own samples for GitHub and GitLab, and small ones for the others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app_server.core.errors import BadRequest
from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.git_hosts.webhooks.reading import read
from app_server.http.json_limits import MAX_VALUES

SAMPLES = Path(__file__).parents[3] / "fixtures" / "git_hosts" / "webhooks"
JSON = {"content-type": "application/json; charset=utf-8"}
Values = dict[str, Any]
ZEROS = "0" * 40


def sample(provider: str, name: str, change: Callable[[Values], Any] | None = None) -> Values:
    body: Values = json.loads((SAMPLES / provider / f"{name}.json").read_text(encoding="utf-8"))
    if change:
        change(body)
    return body


def seen(provider: GitProvider, body: Any, **headers: str) -> list[HostEvent]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read(provider, {**JSON, **named}, json.dumps(body).encode())


def github(name: str, change: Callable[[Values], Any] | None = None) -> list[HostEvent]:
    event = name.partition(".")[0]
    body = sample("github", name, change)
    return seen(GitProvider.GITHUB, body, x_github_event=event, x_github_delivery="d-1")


def gitlab(name: str, change: Callable[[Values], Any] | None = None) -> list[HostEvent]:
    return seen(GitProvider.GITLAB, sample("gitlab", name, change), idempotency_key="d-1")


def only(events: list[HostEvent]) -> HostEvent:
    assert len(events) == 1
    return events[0]


def test_githubs_labels_and_assignments() -> None:
    labelled = only(github("issues.labeled"))
    assert labelled == HostEvent(
        kind=EventKind.ISSUE_LABELLED,
        repository="Codertocat/Hello-World",
        actor="Codertocat",
        actor_id="21031067",
        number=1,
        label="bug",
        url="https://github.com/Codertocat/Hello-World/issues/1",
        delivery_id="d-1",
    )
    assigned = only(github("issues.assigned"))
    assert (assigned.kind, assigned.assignee, assigned.label) == (
        EventKind.ISSUE_ASSIGNED,
        "Codertocat",
        None,
    )
    assert (
        only(github("issues.labeled", lambda body: body.update(action="closed"))).kind
        is EventKind.ISSUE_CLOSED
    )
    assert github("issues.labeled", lambda body: body.update(action="pinned")) == []


def test_githubs_pull_requests() -> None:
    opened = only(github("pull_request.opened"))
    assert (opened.kind, opened.number, opened.is_pull_request) == (EventKind.PULL_REQUEST_OPENED, 2, True)
    for merged, kind in (
        (True, EventKind.PULL_REQUEST_MERGED),
        (False, EventKind.PULL_REQUEST_CLOSED),
    ):

        def close(body: Values, merged: bool = merged) -> None:
            body["action"], body["pull_request"]["merged"] = "closed", merged

        assert only(github("pull_request.opened", close)).kind is kind


def test_githubs_comments_and_reviews() -> None:
    comment = only(github("issue_comment.created"))
    assert (comment.kind, comment.number, comment.is_pull_request) == (EventKind.COMMENT, 1, False)
    assert (comment.association, comment.comment_id) == ("OWNER", "492700400")
    assert "You are totally right" in comment.text
    on_pull = only(
        github("issue_comment.created", lambda body: body["issue"].update(pull_request={"url": "x"}))
    )
    assert on_pull.is_pull_request
    assert github("issue_comment.created", lambda body: body.update(action="edited")) == []
    inline = only(github("pull_request_review_comment.created"))
    assert (inline.kind, inline.thread_id) == (EventKind.REVIEW_COMMENT, "284312630")
    answer = github(
        "pull_request_review_comment.created", lambda body: body["comment"].update(in_reply_to_id=3)
    )
    assert only(answer).thread_id == "3"
    assert github("pull_request_review.submitted") == [], "an empty review comes with each review comment"
    rejected = github(
        "pull_request_review.submitted",
        lambda body: body["review"].update(state="changes_requested", body="No"),
    )
    assert (only(rejected).verdict, only(rejected).text) == (ReviewVerdict.CHANGES_REQUESTED, "No")


def test_githubs_checks_and_pushes() -> None:
    assert github("check_suite.completed") == []
    failed = github("check_suite.completed", lambda body: body["check_suite"].update(conclusion="failure"))
    assert (only(failed).number, only(failed).branch) == (2, "changes")
    of_fork = github(
        "check_suite.completed",
        lambda body: body["check_suite"].update(conclusion="timed_out", pull_requests=[]),
    )
    assert (only(of_fork).number, only(of_fork).commit) == (None, "ec26c3e57ca3a959ca5aad62de7213c562f8c821")
    assert github("status") == []
    assert only(github("status", lambda body: body.update(state="error"))).kind is EventKind.CHECK_FAILED
    assert github("push") == [], "a tag is no branch"
    commits = [{"added": ["a"], "modified": ["b"], "removed": []}, {"modified": ["b", "ä c"]}]
    pushed = github("push", lambda body: body.update(ref="refs/heads/fix/ä", commits=commits))
    assert (only(pushed).branch, only(pushed).paths) == ("fix/ä", ("a", "b", "ä c"))
    assert github("push", lambda body: body.update(ref="refs/heads/x", deleted=True)) == []


def test_gitlabs_issues() -> None:
    assert [(one.kind, one.label) for one in gitlab("issue")] == [(EventKind.ISSUE_LABELLED, "Platform")]

    def assign(body: Values) -> None:
        ada, bob = {"username": "ada"}, {"username": "bob"}
        body["changes"] = {"assignees": {"previous": [ada], "current": [ada, bob]}}
        body["object_attributes"]["action"] = "close"

    events = gitlab("issue", assign)
    assert [(one.kind, one.assignee) for one in events] == [
        (EventKind.ISSUE_ASSIGNED, "bob"),
        (EventKind.ISSUE_CLOSED, None),
    ]
    assert (events[0].repository, events[0].number, events[0].actor_id) == ("gitlabhq/gitlab-test", 23, "1")


def test_gitlabs_merge_requests_and_notes() -> None:
    assert gitlab("merge_request")[-1].kind is EventKind.PULL_REQUEST_OPENED
    merged = gitlab("merge_request", lambda body: body["object_attributes"].update(action="merge"))
    assert merged[-1].kind is EventKind.PULL_REQUEST_MERGED
    note = only(gitlab("note_issue"))
    assert (note.kind, note.number, note.text, note.is_pull_request) == (
        EventKind.COMMENT,
        17,
        "Hello world",
        False,
    )
    for name, value in (("system", True), ("action", "update")):

        def change(body: Values, name: str = name, value: Any = value) -> None:
            body["object_attributes"][name] = value

        assert gitlab("note_issue", change) == []
    inline = gitlab(
        "note_merge_request",
        lambda body: body["object_attributes"].update(position={"new_line": 4}, discussion_id="d9"),
    )
    assert (only(inline).kind, only(inline).thread_id) == (EventKind.REVIEW_COMMENT, "d9")
    assert only(inline).is_pull_request


def test_gitlabs_pipelines_and_pushes() -> None:
    assert gitlab("pipeline") == []
    failed = gitlab("pipeline", lambda body: body["object_attributes"].update(status="failed"))
    assert (only(failed).number, only(failed).is_pull_request) == (1, True)

    def without_merge_request(body: Values) -> None:
        body["object_attributes"]["status"], body["merge_request"] = "failed", None

    assert only(gitlab("pipeline", without_merge_request)).number is None
    pushed = only(gitlab("push"))
    assert (pushed.actor, pushed.branch, pushed.repository) == ("jsmith", "master", "mike/diaspora")
    assert "CHANGELOG" in pushed.paths
    assert gitlab("push", lambda body: body.update(after=ZEROS)) == []


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
