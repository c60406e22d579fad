"""Tests of the rules of triggers: which event at a git host leads to which action."""

from typing import Any

import pytest

from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.triggers.decision import Action, Known, decide, mentions

_OURS = {"is_our_pull_request": True}
_RUNNING = {"has_conversation": True}
_K = EventKind


def _decided(kind: EventKind, event: dict[str, Any], known: dict[str, Any]) -> Action | None:
    happened = HostEvent(kind=kind, repository="octo/app", actor="mona", **{"number": 7, **event})
    decision = decide(happened, Known(**{"label": "slipway", "login": "octo-bot", **known}))
    return decision and decision.action


@pytest.mark.parametrize(
    ("kind", "event", "known", "action"),
    [
        (_K.ISSUE_LABELLED, {"label": "slipway"}, {}, Action.START),
        (_K.ISSUE_LABELLED, {"label": "Slipway"}, {}, Action.START),
        (_K.ISSUE_LABELLED, {"label": "slipway", "is_pull_request": True}, {}, Action.START),
        (_K.ISSUE_LABELLED, {"label": "bug"}, {}, None),
        (_K.ISSUE_LABELLED, {"label": "agent"}, {"label": "agent"}, Action.START),
        (_K.ISSUE_LABELLED, {"label": "slipway"}, _RUNNING, None),
        (_K.ISSUE_LABELLED, {"label": "slipway"}, _OURS, None),
        (_K.ISSUE_ASSIGNED, {"assignee": "octo-bot"}, {}, Action.START),
        (_K.ISSUE_ASSIGNED, {"assignee": "mona"}, {}, None),
        (_K.ISSUE_ASSIGNED, {"assignee": None}, {"login": ""}, None),
        (_K.COMMENT, {"text": "@slipway please look"}, {}, Action.START),
        (_K.COMMENT, {"text": "@slipway and the tests?"}, _RUNNING, Action.TELL),
        (_K.COMMENT, {"text": "@slipway why?"}, _OURS, Action.TELL),
        (_K.COMMENT, {"text": "I agree"}, {}, None),
        (_K.COMMENT, {"text": "I agree"}, _OURS, None),
        (_K.COMMENT, {"text": "@slipway", "number": None}, {}, None),
        (_K.COMMENT, {"text": f"@slipway is at work {MARKER}"}, {}, None),
        (_K.COMMENT, {"text": "@slipway", "comment_id": "5"}, {"own_comments": {"5"}}, None),
        (_K.COMMENT, {"text": "@slipway", "comment_id": "6"}, {"own_comments": {"5"}}, Action.START),
        (_K.REVIEW_COMMENT, {"text": "Rename this."}, _OURS, Action.TELL),
        (_K.REVIEW_COMMENT, {"text": f"Done. {MARKER}"}, _OURS, None),
        (_K.REVIEW_COMMENT, {"text": "Rename this."}, {}, None),
        (_K.REVIEW, {"verdict": ReviewVerdict.CHANGES_REQUESTED}, _OURS, Action.TELL),
        (_K.REVIEW, {"verdict": ReviewVerdict.APPROVED}, _OURS, None),
        (
            _K.REVIEW,
            {"verdict": ReviewVerdict.COMMENTED, "leaves_out_comments": True},
            _OURS,
            Action.TELL,
        ),
        (_K.CHECK_FAILED, {"commit": "abc"}, _OURS, Action.FIX_CHECKS),
        (_K.CHECK_FAILED, {"commit": "abc"}, {**_OURS, "corrected": {"abc"}}, None),
        (_K.CHECK_FAILED, {"commit": "abc"}, {}, None),
        (_K.CHECK_FAILED, {"commit": None}, _OURS, None),
        (_K.ISSUE_CLOSED, {}, _RUNNING, Action.PAUSE),
        (_K.ISSUE_CLOSED, {}, {}, None),
        (_K.PUSHED, {"branch": "main"}, _OURS, None),
        (_K.PULL_REQUEST_OPENED, {}, {}, None),
    ],
)
def test_an_event_leads_to_one_action_or_none(
    kind: EventKind, event: dict[str, Any], known: dict[str, Any], action: Action | None
) -> None:
    assert _decided(kind, event, known) is action


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ("@slipway fix it", True),
        ("Could you, @Slipway?", True),
        ("(@slipway)", True),
        ("mail@slipway.example", False),
        ("@slipway-bot", False),
        ("@slipways", False),
        ("@@slipway", False),
        ("write `@slipway` in a comment", False),
        ("> @slipway fix it\n\nI said this.", False),
        ("```\n@slipway\n```", False),
        ("```\ncode\n```\n@slipway", True),
        ("", False),
    ],
)
def test_a_mention_counts_outside_of_code_and_quotations(text: str, is_mention: bool) -> None:
    assert mentions(text) is is_mention


def test_what_people_ask_for_needs_write_access() -> None:
    people = HostEvent(kind=_K.COMMENT, repository="o/a", actor="mona", number=1, text="@slipway go")
    decision = decide(people, Known("slipway", "bot"))
    assert decision is not None
    assert decision.needs_write_access
