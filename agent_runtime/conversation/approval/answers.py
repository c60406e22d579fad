"""The user's answers to actions that wait for confirmation, and the rules for when the agent must ask."""

from collections.abc import Sequence

from agent_runtime.conversation.approval.pending_actions import approval, rejections, reviewer_of
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConfirmationOutdatedError, NothingToConfirmError
from agent_runtime.conversation.event_log.state import ANALYZER, POLICY
from agent_runtime.conversation.run.tool_setup import apply_analyzer
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.security.analyzers import read_analyzer
from agent_runtime.security.policy import read_policy


async def until_answers_are_taken(conversation: ConversationEngine) -> None:
    """Waits until the run that asks has ended. Its question appears in the log a moment before the run ends,
    because the run still saves a checkpoint of the files.
    """
    if (
        conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        and conversation.run_context.checkpoint_triggers.is_ending
    ):
        await conversation.wait()


def approve(
    conversation: ConversationEngine, *, remember: bool = False, action_ids: Sequence[str] | None = None
) -> None:
    """Approves the waiting actions, so that they run. `remember`: similar actions are not asked about again.

    `action_ids`: the actions that the user saw; None means all that wait. Raises NothingToConfirmError, or
    ConfirmationOutdatedError if other actions wait.
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
    """Rejects the waiting actions. The model is told the reason at the next run. Raises the same errors as
    `approve`.

    `approved`: the ids of actions that are approved instead and run at once.
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
    """Sets when the agent must ask for confirmation, from the next reply on. Raises UnsupportedKindError."""
    _set(conversation, POLICY, read_policy(policy).model_dump(mode="json"))


def set_analyzer(conversation: ConversationEngine, analyzer: JsonObject | None) -> None:
    """Sets which analyzer rates the risk of actions, from the next reply on. Raises UnsupportedKindError."""
    known = read_analyzer(analyzer)
    _set(conversation, ANALYZER, known.model_dump(mode="json") if known else None)
    apply_analyzer(conversation.run_context)


def check(
    conversation: ConversationEngine, action_ids: Sequence[str] | None, approved: Sequence[str] = ()
) -> None:
    """Checks that exactly these actions wait for confirmation (`action_ids`; None means any), and that the
    approved ones are among them.

    Raises NothingToConfirmError or ConfirmationOutdatedError.
    """
    if not conversation.is_waiting:
        raise NothingToConfirmError
    pending = {action.id for action in conversation.state.pending}
    if (action_ids is not None and set(action_ids) != pending) or not pending.issuperset(approved):
        raise ConfirmationOutdatedError


def _set(conversation: ConversationEngine, key: str, value: JsonObject | None) -> None:
    conversation.emit(ConversationStateUpdateEvent(key=key, value=value))
    conversation.publish_full_state()
