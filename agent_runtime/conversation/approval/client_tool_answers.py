"""Records the result of a client tool: a tool that the agent calls and that a client executes."""

from collections.abc import Sequence

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ClientCallNotWaitingError
from agent_runtime.events.content import Content
from agent_runtime.events.observation import ObservationEvent
from agent_runtime.tools.external.client_tool import ClientTool, ClientToolObservation


def answer_client_call(
    conversation: ConversationEngine, action_id: str, content: Sequence[Content], *, is_error: bool = False
) -> None:
    """Logs the content that a client sends as the result of a tool call that the client has executed. This is
    also possible while the agent does not work. `action_id`: the id of the tool call's event.

    Raises ClientCallNotWaitingError if the call already has a result, waits for confirmation, or is not a
    call of a client tool.
    """
    action = next((one for one in conversation.state.pending if one.id == action_id), None)
    tool = conversation.tools.get(action.tool_name) if action is not None else None
    if action is None or not isinstance(tool, ClientTool):
        raise ClientCallNotWaitingError
    if conversation.is_waiting or not tool.awaits_answer:
        raise ClientCallNotWaitingError
    answer = ClientToolObservation(content=list(content), is_error=is_error)
    result = ObservationEvent(
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        observation=answer.to_wire(),
        action_id=action.id,
    )
    # Logged first, so that a crash cannot lose an answer that the client knows to be accepted.
    conversation.emit(result)
    if conversation.is_running:
        tool.deliver(action_id, answer)
