"""Tests of reading webhook deliveries: with samples of the git hosts for GitHub and GitLab, and with small
samples for the others.
"""

from collections.abc import Callable
from typing import Any

from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from tests.app_server.git_hosts.webhooks.samples import ZEROS, Values, github, sample, seen


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
    for action in ("closed", "deleted", "transferred"):
        gone = only(github("issues.labeled", lambda body, action=action: body.update(action=action)))
        assert gone.kind is EventKind.ISSUE_CLOSED
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
