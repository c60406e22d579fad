"""Records the user's decision to approve or reject the actions that wait for confirmation. Also sets the
policy that says when the agent must ask for confirmation.
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
    """Waits until the user can approve or reject the actions of the agent that wait for confirmation. This is
    possible only after the end of the run (the work of the agent until it stops) that asked for confirmation.

    The run first logs the actions, then saves a checkpoint (a snapshot of the files), and only then ends. So
    without this wait, a client that sees the actions in the log could send the user's decision too early.
    """
    if (
        conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        and conversation.run_context.checkpoint_triggers.is_ending
    ):
        await conversation.wait()


def approve(
    conversation: ConversationEngine, *, remember: bool = False, action_ids: Sequence[str] | None = None
) -> None:
    """Approves the actions that wait for confirmation. The agent executes the actions when it continues.
    `remember`: if True, similar actions (for example, calls of the same program in a shell command) no longer
    need confirmation in this conversation.

    `action_ids`: the ids of the actions that the user saw; None means all waiting actions. Raises
    NothingToConfirmError if no action waits. Raises ConfirmationOutdatedError if the waiting actions are not
    those in `action_ids`.
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
    """Rejects the actions that wait for confirmation. The model gets the reason when the agent continues.
    Raises NothingToConfirmError if no action waits. Raises ConfirmationOutdatedError if the waiting actions
    are not those in `action_ids`.

    `reason`: why the user rejects the actions. `action_ids`: the ids of the actions that the user saw; None
    means all waiting actions. `approved`: the ids of those waiting actions that the user approves instead;
    they are executed at once.
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
    applies from the model's next reply on. `policy`: the policy's configuration. Raises UnsupportedKindError
    for an unknown kind of policy.
    """
    _set(conversation, POLICY, read_policy(policy).model_dump(mode="json"))


def set_analyzer(conversation: ConversationEngine, analyzer: JsonObject | None) -> None:
    """Sets the security analyzer, which rates the risk of the agent's actions. The analyzer is used from the
    model's next reply on. `analyzer`: the configuration of the security analyzer; None turns the analysis
    off. Raises UnsupportedKindError for an unknown kind of analyzer.
    """
    known = read_analyzer(analyzer)
    _set(conversation, ANALYZER, known.model_dump(mode="json") if known else None)
    apply_analyzer(conversation.run_context)


def check(
    conversation: ConversationEngine, action_ids: Sequence[str] | None, approved: Sequence[str] = ()
) -> None:
    """Checks that a user's decision is about exactly those actions that wait for confirmation now.
    `action_ids`: the ids of the actions that the user saw; if it is None, the function does not compare them
    with the waiting actions. `approved`: the ids of the actions that the user approved.

    Raises NothingToConfirmError if no action waits. Raises ConfirmationOutdatedError if the waiting actions
    are not those in `action_ids`, or if `approved` contains an action that does not wait.
    """
    if not conversation.is_waiting:
        raise NothingToConfirmError
    pending = {action.id for action in conversation.state.pending}
    if (action_ids is not None and set(action_ids) != pending) or not pending.issuperset(approved):
        raise ConfirmationOutdatedError


def _set(conversation: ConversationEngine, key: str, value: JsonObject | None) -> None:
    conversation.emit(ConversationStateUpdateEvent(key=key, value=value))
    conversation.publish_full_state()
