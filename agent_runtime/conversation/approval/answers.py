"""Records whether the user approves or rejects the actions that wait for confirmation, and sets the policy
for when the agent must ask.
"""

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
    """Waits until the run that asks the user for confirmation has ended. The log contains the question a
    moment before the run ends, because the run still saves a checkpoint of the files. Until then, no answer
    is accepted.
    """
    if (
        conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        and conversation.run_context.checkpoint_triggers.is_ending
    ):
        await conversation.wait()


def approve(
    conversation: ConversationEngine, *, remember: bool = False, action_ids: Sequence[str] | None = None
) -> None:
    """Approves the actions that wait for confirmation. They run next. `remember`: True means that similar
    actions do not need confirmation any more.

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
    """Rejects the actions that wait for confirmation. The model is told the reason at the next run.

    `action_ids`: the actions that the user saw; None means all that wait. `approved`: the ids of actions that
    are approved instead and run at once. Raises NothingToConfirmError, or ConfirmationOutdatedError if other
    actions wait.
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
    """Sets the confirmation policy, which says when the agent must ask the user before it acts. The policy
    applies from the model's next reply on. Raises UnsupportedKindError.
    """
    _set(conversation, POLICY, read_policy(policy).model_dump(mode="json"))


def set_analyzer(conversation: ConversationEngine, analyzer: JsonObject | None) -> None:
    """Sets which security analyzer rates the risk of actions, from the model's next reply on. Raises
    UnsupportedKindError.
    """
    known = read_analyzer(analyzer)
    _set(conversation, ANALYZER, known.model_dump(mode="json") if known else None)
    apply_analyzer(conversation.run_context)


def check(
    conversation: ConversationEngine, action_ids: Sequence[str] | None, approved: Sequence[str] = ()
) -> None:
    """Checks that exactly the actions `action_ids` wait for confirmation, and that `approved` names only some
    of them. `action_ids`: None means any waiting actions.

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
