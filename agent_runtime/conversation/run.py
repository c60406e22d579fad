"""The loop: while something waits for the agent, run its pending calls, else ask the model."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_runtime.agent.agent import Agent
from agent_runtime.agent.execute import execute, ready
from agent_runtime.agent.step import Turn, step
from agent_runtime.agent.stuck import Loop
from agent_runtime.context.condense import Plan, summarize, summarizer, usage_llm
from agent_runtime.conversation.state import State
from agent_runtime.events.base import Event, new_id
from agent_runtime.events.condensation import CondensationRequest
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.observation import ToolResult
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.cost import BUDGET_REACHED, add_usage
from agent_runtime.llm.errors import LLMContextWindowError, LLMError
from agent_runtime.llm.messages import StreamListener
from agent_runtime.tools.tool import AnyTool

logger = logging.getLogger(__name__)

MAX_EMPTY_REPLIES = 3


class ItemStream(StreamListener, Protocol):
    """A streaming reply on its way to those who watch."""

    def drop(self, reason: str) -> None:
        """The reply will not end in an event."""


class Running(Protocol):
    """What the loop needs of a conversation."""

    @property
    def state(self) -> State: ...
    @property
    def agent(self) -> Agent: ...
    @property
    def tools(self) -> Mapping[str, AnyTool]: ...
    @property
    def schemas(self) -> Sequence[dict[str, Any]]: ...
    @property
    def llm_client(self) -> LLMClient: ...
    @property
    def max_iterations(self) -> int: ...

    def messages(self) -> Sequence[bytes]: ...
    def plan_condensation(self, *, is_requested: bool = False) -> Plan | None: ...
    def find_loop(self) -> Loop | None: ...
    def stream(self, item_id: str) -> ItemStream: ...
    def emit(self, *events: Event, seen_seq: int | None = None) -> None: ...


class _RunError(Exception):
    """The run cannot go on. Its text is for the user."""

    def __init__(self, code: str, detail: str, classification: ErrorClassification) -> None:
        super().__init__(detail)
        self.event = ConversationErrorEvent(code=code, detail=detail, classification=classification)


async def run(conversation: Running) -> None:
    """Works until nothing waits for the agent, a pause was asked for, or it fails. All of it is in the log.

    Raises nothing but CancelledError, which leaves the log as it is.
    """
    if conversation.state.status is not ExecutionStatus.RUNNING:
        if not conversation.state.has_work:
            return
        conversation.emit(status_update(ExecutionStatus.RUNNING))
    conversation.emit(*await _outcome(_work(conversation)))


async def condense(conversation: Running) -> None:
    """Makes the condensation that was asked for. What goes wrong is in the log; raises like `run`."""
    plan = conversation.plan_condensation()
    if plan is not None:
        conversation.emit(*await _outcome(_condense(conversation, plan)))


async def _outcome(work: Awaitable[ExecutionStatus | None]) -> list[Event]:
    """How it ended, as events: a new status if there is one, after an error if it failed."""
    try:
        status = await work
        return [] if status is None else [status_update(status)]
    except LLMError as error:
        failure = ConversationErrorEvent(
            code=error.code, detail=str(error), classification=error.classification
        )
    except _RunError as error:
        failure = error.event
    except Exception as error:
        logger.exception("run failed")
        unexpected = ErrorClassification(kind="internal", retryable=True, user_action="retry")
        failure = ConversationErrorEvent(
            code=type(error).__name__,
            detail=f"Something went wrong in the agent server: {error}",
            classification=unexpected,
        )
    return [failure, status_update(ExecutionStatus.ERROR)]


@dataclass
class _Budget:
    """What one run may still do."""

    iterations: int
    empty_replies: int = MAX_EMPTY_REPLIES

    def take_iteration(self, limit: int) -> None:
        if self.iterations == 0:
            limited = ErrorClassification(kind="limit", retryable=True, user_action="retry")
            raise _RunError(
                "MaxIterationsReached", f"The run stopped after {limit} replies of the model.", limited
            )
        self.iterations -= 1

    def count(self, turn: Turn | None) -> None:
        if turn is None:
            return
        self.empty_replies = self.empty_replies - 1 if turn.was_empty else MAX_EMPTY_REPLIES
        if self.empty_replies == 0:
            empty = ErrorClassification(kind="transient", retryable=True, user_action="retry")
            raise _RunError("EmptyReply", "The model sent nothing, several times in a row.", empty)


def _check_cost(conversation: Running) -> None:
    """Stops a run that has used up its budget. Who runs it again allows as much once more."""
    limit, spent = conversation.agent.llm.max_budget_per_task, conversation.state.cost_since_stop
    if limit is None or spent < limit:
        return
    stopped = ErrorClassification(kind="budget", retryable=True, user_action="raise_budget")
    raise _RunError(
        BUDGET_REACHED,
        f"The run stopped: ${spent:.2f} of its budget of ${limit:.2f} are spent. "
        f"Run it again to allow another ${limit:.2f}, or raise `max_budget_per_task` of its model.",
        stopped,
    )


def _check_price(conversation: Running, turn: Turn) -> None:
    """A budget that cannot be kept is not silently ignored."""
    if conversation.agent.llm.max_budget_per_task is None or turn.reply.usage.cost is not None:
        return
    unpriced = ErrorClassification(kind="budget", retryable=True, user_action="check_settings")
    raise _RunError(
        "PriceUnknown",
        "The run stopped: what this model costs is not known, so its budget cannot be kept. Set "
        "`input_cost_per_token` and `output_cost_per_token` (0 if it is free), or no `max_budget_per_task`.",
        unpriced,
    )


async def _work(conversation: Running) -> ExecutionStatus:
    budget = _Budget(conversation.max_iterations)
    while conversation.state.has_work:
        if conversation.state.wants_pause:
            return ExecutionStatus.PAUSED
        if conversation.state.pending:
            await _execute_pending(conversation)
        elif (plan := conversation.plan_condensation()) is not None:
            await _condense(conversation, plan)
        elif (loop := conversation.find_loop()) is not None:
            if loop.was_nudged:
                return ExecutionStatus.STUCK
            conversation.emit(loop.nudge())
        else:
            budget.take_iteration(conversation.max_iterations)
            _check_cost(conversation)
            budget.count(await _ask_or_condense(conversation))
    return ExecutionStatus.FINISHED


async def _execute_pending(conversation: Running) -> None:
    """Runs the calls of one reply, side by side where they allow it, and logs each result as it comes.

    A pause lets those end that have begun. Leaves nothing running behind, however it ends.
    """
    running: dict[str, asyncio.Task[ToolResult]] = {}
    try:
        while True:
            if not conversation.state.wants_pause:
                _begin(conversation, running)
            if not running:
                return
            done, _ = await asyncio.wait(running.values(), return_when=asyncio.FIRST_COMPLETED)
            for action_id in [action_id for action_id, task in running.items() if task in done]:
                conversation.emit(running.pop(action_id).result())
    finally:
        for task in running.values():
            task.cancel()
        if running:
            await asyncio.wait(running.values())


def _begin(conversation: Running, running: dict[str, asyncio.Task[ToolResult]]) -> None:
    free = conversation.agent.tool_concurrency_limit - len(running)
    waiting = [a for a in ready(conversation.state.pending, conversation.tools) if a.id not in running]
    for action in waiting[:free]:
        call = execute(action, conversation.tools)
        running[action.id] = asyncio.create_task(call, name=f"{action.tool_name} {action.id}")


async def _condense(conversation: Running, plan: Plan) -> None:
    """Has the older events summed up."""
    condenser = summarizer(conversation.agent.condenser)
    assert condenser is not None, "there is no plan without a condenser"
    reply = await summarize(plan, condenser, conversation.llm_client)
    stats = add_usage(conversation.state.stats, usage_llm(condenser), reply)
    condensation = plan.to_event(reply.text.strip(), reply.id)
    conversation.emit(condensation, ConversationStateUpdateEvent(key="stats", value=stats))


async def _ask_or_condense(conversation: Running) -> Turn | None:
    """One turn of the model; None when older events have to be condensed first."""
    try:
        return await _ask(conversation)
    except LLMContextWindowError:
        # What cannot be made shorter ends the run: the user has to know.
        if conversation.plan_condensation(is_requested=True) is None:
            raise
        conversation.emit(CondensationRequest())
        return None


async def _ask(conversation: Running) -> Turn:
    """One turn of the model. What lands in the log meanwhile counts as unseen."""
    seen_seq = conversation.state.last_seq
    item_id = new_id()
    stream = conversation.stream(item_id)
    turn = await step(
        conversation.agent,
        conversation.tools,
        conversation.messages(),
        conversation.llm_client,
        schemas=conversation.schemas,
        item_id=item_id,
        listener=stream,
    )
    if turn.was_empty:
        stream.drop("empty")
    stats = add_usage(conversation.state.stats, conversation.agent.llm, turn.reply)
    update = ConversationStateUpdateEvent(key="stats", value=stats)
    conversation.emit(*turn.events, update, seen_seq=None if turn.was_empty else seen_seq)
    _check_price(conversation, turn)
    return turn
