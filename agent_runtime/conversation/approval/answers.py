"""The user's answers to what the agent asks before it acts, and when it has to ask."""

from collections.abc import Sequence

from agent_runtime.conversation.approval.pending_actions import approval, rejections, reviewer_of
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConfirmationOutdatedError, NothingToConfirmError
from agent_runtime.conversation.event_log.state import ANALYZER, POLICY
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.security.analyzers import read_analyzer
from agent_runtime.security.policy import read_policy


async def until_answers_are_taken(conversation: ConversationEngine) -> None:
    """A question is in the log a moment before the run that asks it has ended: files are kept meanwhile."""
    if conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION and conversation.turns.is_ending:
        await conversation.wait()


def approve(
    conversation: ConversationEngine, *, remember: bool = False, action_ids: Sequence[str] | None = None
) -> None:
    """The actions that wait run. remember: do not ask about such actions again.

    action_ids: those that the answer is meant for. NothingToConfirmError, ConfirmationOutdatedError.
    """
    check(conversation, action_ids)
    if remember:
        reviewer = reviewer_of(conversation.spec, conversation.state, conversation.tools)
        conversation.emit(approval(reviewer, conversation.state))
    conversation.start()


def reject(
    conversation: ConversationEngine,
    reason: str,
    *,
    action_ids: Sequence[str] | None = None,
    approved: Sequence[str] = (),
) -> None:
    """The actions that wait do not run; the model is told why at the next run. Raises as `approve`.

    approved: those that run all the same, at once.
    """
    check(conversation, action_ids, approved)
    refused = [action for action in conversation.state.pending if action.id not in approved]
    if approved:
        conversation.emit(*rejections(refused, reason))
        conversation.start()
        return
    conversation.emit(*rejections(refused, reason), status_update(ExecutionStatus.IDLE))
    conversation.publish_full_state()


def set_policy(conversation: ConversationEngine, policy: JsonObject) -> None:
    """When to ask, from the next reply on. UnsupportedKindError."""
    _set(conversation, POLICY, read_policy(policy).model_dump(mode="json"))


def set_analyzer(conversation: ConversationEngine, analyzer: JsonObject | None) -> None:
    """Who judges, from the next reply on. UnsupportedKindError."""
    known = read_analyzer(analyzer)
    _set(conversation, ANALYZER, known.model_dump(mode="json") if known else None)
    conversation.apply_analyzer()


def check(
    conversation: ConversationEngine, action_ids: Sequence[str] | None, approved: Sequence[str] = ()
) -> None:
    """Whether those actions wait, and no others, and the approved ones are among them.

    NothingToConfirmError, ConfirmationOutdatedError.
    """
    if not conversation.is_waiting:
        raise NothingToConfirmError
    pending = {action.id for action in conversation.state.pending}
    if (action_ids is not None and set(action_ids) != pending) or not pending.issuperset(approved):
        raise ConfirmationOutdatedError


def _set(conversation: ConversationEngine, key: str, value: JsonObject | None) -> None:
    conversation.emit(ConversationStateUpdateEvent(key=key, value=value))
    conversation.publish_full_state()
