"""Passes the user's decision to approve or reject actions to the right conversation. This is the conversation
whose agent has asked the user: the given conversation, or the conversation of one of its sub-agents.
"""

from collections.abc import Sequence
from uuid import UUID

from agent_runtime.conversation.approval import answers as consent
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.delegation.host import ConversationHost
from agent_runtime.events.state import ExecutionStatus, status_update


def approve(
    conversation: ConversationEngine,
    host: ConversationHost,
    *,
    remember: bool = False,
    action_ids: Sequence[str] | None = None,
) -> None:
    """Approves the actions that wait for confirmation in the conversation or in its sub-agents'
    conversations. Starts these conversations, so that their agents execute the actions. `remember`: if True,
    later actions of the same kinds as the approved actions need no confirmation.

    `host`: finds the sub-agents' conversations. `action_ids`: the ids of the actions that the user saw; None
    means all waiting actions. Raises NothingToConfirmError if no action waits. Raises
    ConfirmationOutdatedError if the waiting actions are not those in `action_ids`.
    """
    asking = asking_below(conversation, host)
    if asking:
        consent.check(conversation, action_ids)
        for child in asking.values():
            approve(child, host, remember=remember)
        conversation.start()
    else:
        consent.approve(conversation, remember=remember, action_ids=action_ids)


def reject(
    conversation: ConversationEngine,
    host: ConversationHost,
    reason: str,
    *,
    action_ids: Sequence[str] | None = None,
    approved: Sequence[str] = (),
) -> None:
    """Rejects the actions that wait for confirmation in the conversation or in its sub-agents' conversations,
    except those in `approved`. The agent that asked gets the reason when it continues. `host`: finds the
    sub-agents' conversations.

    `action_ids`: the ids of the actions that the user saw; None means all waiting actions. `approved`: the
    ids of waiting actions that the user approves, if the user rejects only some of them. If there are any,
    the agent is started and executes them. To approve all actions of a sub-agent, pass the id of the parent's
    tool call that started the sub-agent.

    Raises NothingToConfirmError if no action waits. Raises ConfirmationOutdatedError if the waiting actions
    are not those in `action_ids`, or if `approved` contains an action that does not wait.
    """
    asking = asking_below(conversation, host)
    if not asking:
        consent.reject(conversation, reason, action_ids=action_ids, approved=approved)
        return
    consent.check(conversation, action_ids, approved)
    for call_id, child in asking.items():
        if call_id in approved:
            approve(child, host)
        else:
            reject(child, host, reason)
    if approved:
        conversation.start()
        return
    conversation.emit(status_update(ExecutionStatus.IDLE))
    conversation.publish_full_state()


def go_on_above(conversation: ConversationEngine, host: ConversationHost) -> None:
    """Starts the parent conversation of a sub-agent again, then the parent's parent, and so on. These
    conversations were waiting for the user's decision about actions of the sub-agent. The caller must call
    this function after the user has decided.

    If a parent has another sub-agent that still waits for the user, this parent and the parents above it are
    not started.

    `conversation`: the conversation of the sub-agent. `host`: finds the parents' conversations.
    """
    parent = _parent_of(conversation, host)
    if parent is not None and parent.is_waiting and not asking_below(parent, host):
        parent.start()
        go_on_above(parent, host)


def asking_below(conversation: ConversationEngine, host: ConversationHost) -> dict[str, ConversationEngine]:
    """Returns the conversations of the direct sub-agents of `conversation` that wait for the user's
    confirmation. Each key is the id of the tool call that started or resumed the sub-agent. Only tool calls
    without a result count. `host`: finds the conversations of the sub-agents.
    """
    if not conversation.is_waiting:
        return {}
    calls = {action.id for action in conversation.state.pending}
    waited_for = (task for task in conversation.state.tasks.values() if task.action_id in calls)
    found = ((task.action_id, host.find(task.conversation_id)) for task in waited_for)
    return {call_id: child for call_id, child in found if child is not None and child.is_waiting}


def _parent_of(conversation: ConversationEngine, host: ConversationHost) -> ConversationEngine | None:
    parent_id: UUID | None = conversation.spec.parent_conversation_id
    parent = None if parent_id is None else host.find(parent_id)
    if parent is None:
        return None
    calls = {action.id for action in parent.state.pending}
    tasks = parent.state.tasks.values()
    is_its_task = any(one.conversation_id == conversation.id and one.action_id in calls for one in tasks)
    return parent if is_its_task else None
