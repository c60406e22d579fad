"""Decides what an event at a git host leads to. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent

MARKER = "<!-- slipway:comment -->"
"""Stands in each comment that we write. Hosts do not show it."""

_MENTION = re.compile(r"(?<![\w@/.`-])@slipway(?![\w-])", re.IGNORECASE)
_QUOTED_LINE = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]+`")


class Action(StrEnum):
    """START: begin a conversation about the issue or pull request. TELL: send the text to the conversation
    that opened the pull request. FIX_CHECKS: ask that conversation to correct the checks. PAUSE: pause the
    conversations about the issue.
    """

    START = "start"
    TELL = "tell"
    FIX_CHECKS = "fix_checks"
    PAUSE = "pause"


@dataclass(frozen=True)
class Known:
    """What is known here about the event.

    `label`: the label that triggers, as the hook's owner has set it. `login`: the login of the token's user
    at the host. `own_comments`: ids of the comments that we wrote. `is_our_pull_request`: a conversation of
    the hook's owner has opened the pull request. `has_conversation`: a trigger has already started a
    conversation about this issue or pull request. `corrected`: commits whose failing checks were handed over.
    """

    label: str
    login: str
    own_comments: Collection[str] = ()
    is_our_pull_request: bool = False
    has_conversation: bool = False
    corrected: Collection[str] = ()


@dataclass(frozen=True)
class Decision:
    """`needs_write_access`: the actor must be asked for at the host before anything is done."""

    action: Action
    needs_write_access: bool = True


def decide(event: HostEvent, known: Known) -> Decision | None:
    """Returns what the event leads to, None for nothing."""
    return None if is_own(event, known) else _of_others(event, known)


def _of_others(event: HostEvent, known: Known) -> Decision | None:
    match event.kind:
        case EventKind.ISSUE_LABELLED:
            return _start(event, known, is_meant=_same(event.label, known.label))
        case EventKind.ISSUE_ASSIGNED:
            return _start(event, known, is_meant=_same(event.assignee, known.login))
        case EventKind.COMMENT | EventKind.REVIEW_COMMENT | EventKind.REVIEW:
            return _said(event, known)
        case EventKind.CHECK_FAILED:
            return _failed(event, known)
        case EventKind.ISSUE_CLOSED if known.has_conversation:
            return Decision(Action.PAUSE, needs_write_access=False)
    return None


def is_own(event: HostEvent, known: Known) -> bool:
    """Returns whether we wrote the comment ourselves. These never trigger.

    The token's user may also write as a person, so that its login alone does not say so.
    """
    return MARKER in event.text or (event.comment_id is not None and event.comment_id in known.own_comments)


def mentions(text: str) -> bool:
    """Returns whether the text mentions `@slipway`, outside of code and quotations."""
    for pattern in (_FENCED, _QUOTED_LINE, _INLINE_CODE):
        text = pattern.sub(" ", text)
    return _MENTION.search(text) is not None


def _said(event: HostEvent, known: Known) -> Decision | None:
    if known.is_our_pull_request:
        is_review = event.kind in {EventKind.REVIEW_COMMENT, EventKind.REVIEW}
        # An approval without words asks for nothing.
        says_something = bool(event.text.strip()) or event.verdict is ReviewVerdict.CHANGES_REQUESTED
        return Decision(Action.TELL) if mentions(event.text) or (is_review and says_something) else None
    if event.number is None or not mentions(event.text):
        return None
    return Decision(Action.TELL if known.has_conversation else Action.START)


def _failed(event: HostEvent, known: Known) -> Decision | None:
    """A check is not a person: what it says reaches only a conversation that has opened the pull request."""
    is_new = event.commit is not None and event.commit not in known.corrected
    if not (known.is_our_pull_request and is_new):
        return None
    return Decision(Action.FIX_CHECKS, needs_write_access=False)


def _start(event: HostEvent, known: Known, *, is_meant: bool) -> Decision | None:
    if not is_meant or event.number is None or known.has_conversation or known.is_our_pull_request:
        return None
    return Decision(Action.START)


def _same(one: str | None, other: str) -> bool:
    return bool(other) and one is not None and one.casefold() == other.casefold()
