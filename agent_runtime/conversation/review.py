"""Whether the work is really over once the agent thinks so."""

from agent_runtime.conversation.audit import audit
from agent_runtime.conversation.critique import is_refined
from agent_runtime.conversation.running import Running


async def is_sent_back(conversation: Running) -> bool:
    """Whether there is more to do after all: an objection to the end stands in the log."""
    if conversation.state.must_ask:
        return False  # it is the user's turn
    hooks = conversation.hooks
    if (hooks is not None and await hooks.object_to_stop(conversation)) or is_refined(conversation):
        return True
    await audit(conversation)
    return conversation.state.has_work
