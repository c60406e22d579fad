"""Enforces the limits of a run (the work of the agent until it stops): the number of replies of the model,
and the cost in dollars.
"""

from dataclasses import dataclass

from agent_runtime.agent.model_turn import ModelTurn
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.base import Event
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.config import LLM
from agent_runtime.llm.conversation_costs import add_usage, budget_of, total_cost, with_budget
from agent_runtime.llm.messages import Reply
from agent_runtime.metering.limits import BUDGET_REACHED

MAX_EMPTY_REPLIES = 3


class RunError(Exception):
    """The error that is raised when the agent cannot continue its current work (the run). `event`: the event
    for the conversation's log that tells the user the reason.
    """

    def __init__(self, code: str, detail: str, classification: ErrorClassification) -> None:
        super().__init__(detail)
        self.event = ConversationErrorEvent(code=code, detail=detail, classification=classification)


@dataclass
class Budget:
    """The counters of one run (the work of the agent until it stops). `iterations`: how many more replies the
    model may give. `empty_replies`: how many more empty replies in a row the model may give.
    """

    iterations: int
    empty_replies: int = MAX_EMPTY_REPLIES

    def take_iteration(self, limit: int) -> None:
        if self.iterations == 0:
            limited = ErrorClassification(kind="agent_action", retryable=True, user_action="retry")
            raise RunError(
                "MaxIterationsReached", f"The run stopped after {limit} replies of the model.", limited
            )
        self.iterations -= 1

    def count(self, turn: ModelTurn | None) -> None:
        if turn is None:
            return
        self.empty_replies = self.empty_replies - 1 if turn.was_empty else MAX_EMPTY_REPLIES
        if self.empty_replies == 0:
            empty = ErrorClassification(kind="transient", retryable=True, user_action="retry")
            raise RunError("EmptyReply", "The model sent nothing, several times in a row.", empty)


def check_cost(context: RunContext) -> None:
    """Checks the budget of the conversation (the maximum cost of all its model calls). Raises RunError if the
    budget is spent. If the user then starts the agent again, the function `renewed` increases the budget.
    """
    limit, spent = _limit(context), total_cost(context.state.stats)
    if limit is None or spent < limit:
        return
    stopped = ErrorClassification(kind="quota", retryable=True, user_action="settings")
    raise RunError(
        BUDGET_REACHED,
        f"Paused: {_dollars(spent)} are spent, and the budget is {_dollars(limit)}. "
        f"Run it again to allow another {_dollars(_share(context, limit))}, "
        "or set another budget.",
        stopped,
    )


def renewed(context: RunContext) -> list[Event]:
    """Returns the event that sets a higher budget at the beginning of a run (work of the agent), if the
    conversation's budget is spent. Returns an empty list if it is not spent, or if there is no budget.

    The new budget is the amount spent so far plus an amount for this run. The amount for the run is
    `max_budget_per_task` in the configuration of the agent's model. If that is not set, it is as much as the
    budget before.
    """
    limit, spent = _limit(context), total_cost(context.state.stats)
    if limit is None or spent < limit:
        return []
    return [budget_update(context, spent + _share(context, limit))]


def budget_update(context: RunContext, dollars: float | None) -> ConversationStateUpdateEvent:
    """Returns the event that sets the budget of the whole conversation. `dollars`: None means no limit."""
    stats = with_budget(context.state.stats, context.agent.llm, dollars)
    return ConversationStateUpdateEvent(key="stats", value=stats)


def check_price(context: RunContext, reply: Reply) -> None:
    """Raises RunError if the conversation has a budget and the price of the reply is not known, because a
    budget cannot be enforced without prices.
    """
    if _limit(context) is None or reply.usage.cost is not None:
        return
    unpriced = ErrorClassification(kind="config", retryable=True, user_action="settings")
    raise RunError(
        "PriceUnknown",
        "The run stopped: what this model costs is not known, so its budget cannot be kept. Go on without a "
        "budget (no `max_budget_per_task`), or set `input_cost_per_token` and `output_cost_per_token` of the "
        "model (0 if it is free).",
        unpriced,
    )


def _dollars(amount: float) -> str:
    # Cheap models spend fractions of a cent.
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.2g}"


def _limit(context: RunContext) -> float | None:
    return budget_of(context.state.stats, context.agent.llm)


def _share(context: RunContext, limit: float) -> float:
    """Returns how many dollars a new run (work of the agent) may spend when the conversation's budget is
    already spent. This is `max_budget_per_task` in the configuration of the agent's model. If that is not
    set, the result is `limit`, the budget that is spent.
    """
    return context.agent.llm.max_budget_per_task or limit


def settle(context: RunContext, llm: LLM, reply: Reply) -> None:
    """Adds the tokens and the cost of a reply to the conversation's statistics. Then raises RunError if the
    conversation has a budget and the reply's price is unknown. Used for replies of other models than the
    agent's, such as the critic's. `llm`: the model that wrote the reply.
    """
    count_reply(context, llm, reply)
    check_price(context, reply)


def count_reply(context: RunContext, llm: LLM, reply: Reply) -> None:
    """Adds the tokens and the cost of a reply to the conversation's statistics. `llm`: the model that wrote
    the reply. The statistics have a separate entry for each usage id of a model.
    """
    stats = add_usage(context.state.stats, llm, reply)
    context.emit(ConversationStateUpdateEvent(key="stats", value=stats))
