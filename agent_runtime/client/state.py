"""The current state of a conversation, with the token usage and cost of its model calls."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from agent_runtime.client.session import ConversationSession
from agent_runtime.conversation.run.goal import GOAL, Goal
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.events.union import AnyEvent
from agent_runtime.wire import ConversationInfo


class TokenUsage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Metrics(BaseModel):
    """The token usage and cost of model calls, of one model or of several. `accumulated_cost` is in
    dollars.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    accumulated_cost: float = 0.0
    accumulated_token_usage: TokenUsage = TokenUsage()


class ConversationStats(BaseModel):
    """The token usage and cost of a conversation, by the `usage_id` of each model that was called. A
    `usage_id` is the name under which costs are counted, such as `agent`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    usage_to_metrics: dict[str, Metrics] = {}

    def get_combined_metrics(self) -> Metrics:
        """Returns the sum of the usage and cost of all models."""
        every = list(self.usage_to_metrics.values())
        usage = {
            name: sum(getattr(metrics.accumulated_token_usage, name) for metrics in every)
            for name in TokenUsage.model_fields
        }
        cost = sum(metrics.accumulated_cost for metrics in every)
        return Metrics(accumulated_cost=cost, accumulated_token_usage=TokenUsage(**usage))


class ConversationState:
    """The state of a conversation. Each property asks the engine that runs the agent, so its value is always
    current.
    """

    def __init__(self, session: ConversationSession) -> None:
        self._session = session

    @property
    def info(self) -> ConversationInfo:
        """The full description of the conversation: all its fields, read at the same moment."""
        return self._session.call(self._session.link.info())

    @property
    def execution_status(self) -> ExecutionStatus:
        return self.info.execution_status

    @property
    def events(self) -> Sequence[AnyEvent]:
        """All events of the conversation's log, oldest first. The events can still be read after the
        conversation is closed.
        """
        return self._session.events()

    @property
    def stats(self) -> ConversationStats:
        return ConversationStats.model_validate(self.info.stats)

    @property
    def cost(self) -> float:
        """The cost in dollars of all model calls in this conversation."""
        return self.stats.get_combined_metrics().accumulated_cost

    @property
    def title(self) -> str | None:
        return self.info.title

    @property
    def tags(self) -> dict[str, str]:
        return self.info.tags

    @property
    def goal(self) -> Goal | None:
        """The status of the conversation's last goal. None if there was no goal."""
        stored_goal = self.info.agent_state.get(GOAL)
        return None if stored_goal is None else Goal.model_validate(stored_goal)

    @property
    def leaf_event_id(self) -> str | None:
        """The id of the last event of the conversation as it continues now; the next event is added after it.
        None if the conversation now continues from its beginning.

        The log is a tree. If the conversation is reset to an earlier event, a new branch begins there, and
        the later events stay in the old branch. This property belongs to the new branch.
        """
        return self.info.leaf_event_id

    @property
    def created_at(self) -> datetime:
        return self.info.created_at
