"""Builds the chat messages for the agent's model, and plans which older events a summary replaces."""

from collections.abc import Collection, Sequence
from uuid import UUID

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import CondensationPlan, plan, summarizers
from agent_runtime.conversation.event_log.history import History
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.run.verbatim_texts import keepsakes
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.events.message import MessageEvent
from agent_runtime.llm.capabilities import listed
from agent_runtime.llm.messages import Prompt


class ModelInput:
    """An object that builds the input of the agent's model from the event log. The object does not change the
    log.
    """

    def __init__(self, conversation_id: UUID, log: EventLog, history: History, toolbox: Toolbox) -> None:
        self._conversation_id = conversation_id
        self._log = log
        self._history = history
        self._toolbox = toolbox

    @property
    def state(self) -> State:
        return self._history.state

    def messages(self) -> Sequence[bytes]:
        """Returns the chat messages for the model. While a tool call has no result, they are not a valid
        prompt and must not be sent to the model.
        """
        return self._history.view.messages()

    def prompt(self) -> Prompt:
        """Returns the next prompt for the agent's model: the chat messages and the schemas of the tools."""
        return Prompt(
            messages=self.messages(), tools=self._toolbox.schemas, cache_key=str(self._conversation_id)
        )

    def unseen_messages(self) -> Sequence[MessageEvent]:
        """Returns the user's messages that the model has not seen yet."""
        records = [self._log.get(message_id) for _, message_id in self.state.unseen_messages]
        said = [record.body for record in records if record is not None and record.source == "user"]
        return [MessageEvent.model_validate_json(body) for body in said]

    def first_unseen_message(self, passed: Collection[str | None]) -> MessageEvent | None:
        """Returns the user's oldest message that the model has not seen. Returns None if there is no such
        message. Reads only this message from the log. `passed`: the ids of messages to ignore.
        """
        for _, message_id in self.state.unseen_messages:
            record = self._log.get(message_id) if message_id not in passed else None
            if record is not None and record.source == "user":
                return MessageEvent.model_validate_json(record.body)
        return None

    def plan_condensation(self, agent: Agent, *, is_requested: bool = False) -> CondensationPlan | None:
        """Returns a plan for a condensation: it says which events a summary should now replace, and which
        condenser makes the summary. Returns None if no condensation is needed or possible.

        `agent`: the agent, with its condenser and model. `is_requested`: if True, a plan is made even if the
        prompt is still shorter than the condenser's limits.
        """
        plans = (
            plan(
                self._history.view.passages,
                condenser,
                context_tokens=self._history.context_tokens,
                window_tokens=agent.llm.max_input_tokens
                or self._history.window_tokens
                or listed(agent.llm).window,
                is_requested=is_requested or self.state.wants_condensation,
            )
            for condenser in summarizers(agent.condenser)
        )
        return next((one for one in plans if one is not None), None)

    def verbatim_text(self, plan: CondensationPlan) -> str:
        """Returns the text that is added to the prompt word for word after the summary of older events. It
        contains the user's last message, the agent's plan and the names of the files that the agent viewed or
        changed last. `plan`: which events the summary replaces. The user's message is added only if it does
        not stay in the prompt.
        """
        message_id = self.state.last_user_message_id
        record = self._log.get(message_id) if message_id is not None else None
        order = None if record is None else MessageEvent.model_validate_json(record.body)
        return keepsakes(plan, self._history.view.passages, order, self.state.work)
