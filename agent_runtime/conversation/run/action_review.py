"""Reviews the security of the actions in a reply of the model, before these actions run."""

from collections.abc import Sequence

from agent_runtime.conversation.approval.pending_actions import review, reviewer_of
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.observation import AgentErrorEvent


def review_actions(context: RunContext, events: Sequence[Event]) -> list[Event]:
    """Decides whether the user must confirm the actions (tool calls) in one reply of the model. Returns
    events for the log: the result of the security analyzer, and the status `waiting_for_confirmation` if the
    user must confirm the actions. `events`: the events of the reply.
    """
    if context.state.must_ask:
        return []  # all of them will be refused
    answered = {event.tool_call_id for event in events if isinstance(event, AgentErrorEvent)}
    actions = [
        event for event in events if isinstance(event, ActionEvent) and event.tool_call_id not in answered
    ]
    return review(reviewer_of(context.spec, context.state, context.tools), actions)
