"""Decides what Slipway does about an event at a git host. The functions here do no I/O."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch

from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.schemas import ReviewVerdict
from app_server.git_hosts.webhooks.events import EventKind, HostEvent
from app_server.triggers.models import TriggerEvent

_QUOTED_LINE = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]+`")


class Action(StrEnum):
    """The actions that Slipway can take about an event at a git host.

    START: starts a conversation about the issue, the pull request or the push. TELL: sends the text of the
    event to an existing conversation. This is the conversation about the issue or pull request, or the
    conversation that has opened the pull request. FIX_CHECKS: asks the conversation that has opened the pull
    request to fix the failing checks. PAUSE: pauses the conversation about the issue or pull request.
    """

    START = "start"
    TELL = "tell"
    FIX_CHECKS = "fix_checks"
    PAUSE = "pause"


@dataclass(frozen=True)
class Known:
    """The facts about an event at a git host and about the trigger for it. Slipway uses these facts to decide
    what to do about the event.

    `label`, `mention`, `events`, `paths`: the settings of the trigger, see Trigger. `branch`: the branch of
    the trigger; the default branch if the trigger names none. `login`: the login name of the account whose
    token Slipway uses at the git host. `own_comments`: the ids of comments that Slipway has written.
    `is_own_push`: whether an agent has pushed the commit. `is_our_pull_request`: whether a conversation of
    the trigger's owner has opened the pull request. `corrected`: the commits whose failing checks were
    already sent to the agent.

    `has_conversation`: whether the trigger has already started a conversation about the subject of the event.
    For an issue or a pull request, each such conversation counts. For a push, a conversation about an earlier
    push counts only until its agent stops working.
    """

    label: str
    login: str
    mention: str = "slipway"
    events: Collection[str] = frozenset(TriggerEvent)
    branch: str | None = None
    paths: Sequence[str] = ()
    own_comments: Collection[str] = ()
    is_own_push: bool = False
    is_our_pull_request: bool = False
    has_conversation: bool = False
    corrected: Collection[str] = ()


@dataclass(frozen=True)
class TriggerDecision:
    """The decision about what Slipway does after an event at a git host.

    `needs_write_access`: whether the person who caused the event must have write access to the repository. If
    true, Slipway asks the git host for the person's access before it carries out the action.
    """

    action: Action
    needs_write_access: bool = True


def decide(event: HostEvent, known: Known) -> TriggerDecision | None:
    """Decides what Slipway does about an event at a git host. Returns None if Slipway does nothing."""
    return None if is_own(event, known) else _of_others(event, known)


def _of_others(event: HostEvent, known: Known) -> TriggerDecision | None:
    found: TriggerDecision | None = None
    match event.kind:
        case EventKind.ISSUE_LABELLED if TriggerEvent.LABEL in known.events:
            found = _start(event, known, is_meant=_same(event.label, known.label))
        case EventKind.ISSUE_ASSIGNED if TriggerEvent.ASSIGNMENT in known.events:
            found = _start(event, known, is_meant=_same(event.assignee, known.login))
        case EventKind.COMMENT | EventKind.REVIEW_COMMENT | EventKind.REVIEW:
            found = _on_comment(event, known)
        case EventKind.CHECK_FAILED if TriggerEvent.FAILING_CHECK in known.events:
            found = _failed(event, known)
        case EventKind.PUSHED if TriggerEvent.PUSH in known.events:
            found = _pushed(event, known)
        case EventKind.ISSUE_CLOSED | EventKind.PULL_REQUEST_CLOSED | EventKind.PULL_REQUEST_MERGED:
            if known.has_conversation:
                found = TriggerDecision(Action.PAUSE, needs_write_access=False)
    return found


def is_own(event: HostEvent, known: Known) -> bool:
    """Returns whether the event is about a comment that Slipway itself wrote. Such a comment never triggers
    an action.

    The login name of the comment's author is not compared, because Slipway writes comments with the token of
    a person, who may also write comments.
    """
    return MARKER in event.text or (event.comment_id is not None and event.comment_id in known.own_comments)


def mentions(text: str, word: str = "slipway") -> bool:
    """Returns whether the text contains `@word` outside of code blocks and quotations. Upper and lower case
    do not matter. `word`: the setting `mention` of the trigger.
    """
    for pattern in (_FENCED, _QUOTED_LINE, _INLINE_CODE):
        text = pattern.sub(" ", text)
    mention = rf"(?<![\w@/.`-])@{re.escape(word)}(?![\w-])"
    return re.search(mention, text, re.IGNORECASE) is not None


def _on_comment(event: HostEvent, known: Known) -> TriggerDecision | None:
    is_mention = TriggerEvent.MENTION in known.events and mentions(event.text, known.mention)
    if known.is_our_pull_request:
        is_review = event.kind in {EventKind.REVIEW_COMMENT, EventKind.REVIEW}
        # An approval without words asks for nothing, unless it comes with comments on lines.
        asks = event.verdict is ReviewVerdict.CHANGES_REQUESTED or event.leaves_out_comments
        says_something = bool(event.text.strip()) or asks
        is_wanted = is_review and says_something and TriggerEvent.REVIEW_COMMENT in known.events
        return TriggerDecision(Action.TELL) if is_mention or is_wanted else None
    if event.number is None or not is_mention:
        return None
    return TriggerDecision(Action.TELL if known.has_conversation else Action.START)


def _pushed(event: HostEvent, known: Known) -> TriggerDecision | None:
    """Returns the decision about what Slipway does after a push to a branch. Returns None (Slipway does
    nothing) in three cases: an agent has pushed, the push is not to the trigger's branch, or no changed file
    matches the paths of the trigger.

    If the git host does not name the changed files, each push to the trigger's branch matches.
    """
    matches = not known.paths or not event.paths or any(_fits(path, known.paths) for path in event.paths)
    if known.is_own_push or event.branch != known.branch or not matches:
        return None
    return TriggerDecision(Action.TELL if known.has_conversation else Action.START, needs_write_access=False)


def _fits(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path, one) or path.startswith(one.rstrip("/") + "/") for one in patterns)


def _failed(event: HostEvent, known: Known) -> TriggerDecision | None:
    """Returns the decision about what Slipway does after a failing check of a commit. The decision is to ask
    the conversation that has opened the pull request to fix the check. Returns None if no conversation has
    opened the pull request, or if the conversation was already asked to fix the checks of this commit.

    A failing check never starts a conversation, because the text of a check comes from a program, not from a
    person.
    """
    is_new = event.commit is not None and event.commit not in known.corrected
    if not (known.is_our_pull_request and is_new):
        return None
    return TriggerDecision(Action.FIX_CHECKS, needs_write_access=False)


def _start(event: HostEvent, known: Known, *, is_meant: bool) -> TriggerDecision | None:
    if not is_meant or event.number is None or known.has_conversation or known.is_our_pull_request:
        return None
    return TriggerDecision(Action.START)


def _same(one: str | None, other: str) -> bool:
    return bool(other) and one is not None and one.casefold() == other.casefold()
