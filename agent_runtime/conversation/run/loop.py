"""The run loop: while there is work for the agent, runs its pending calls, or else asks the model."""

import asyncio
import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from agent_runtime.agent import stuck
from agent_runtime.agent.execute import ready
from agent_runtime.agent.step import ModelTurn, step
from agent_runtime.context.condense import (
    CondensationPlan,
    reads_same_cache,
    summarize,
    summarize_in_place,
    summarizer,
    usage_llm,
)
from agent_runtime.conversation.run.budget import Budget, RunError, check_cost, check_price, renewed
from agent_runtime.conversation.run.completion import is_sent_back
from agent_runtime.conversation.run.context import Running
from agent_runtime.conversation.run.critic_review import criticised
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.hook_dispatch import call_tool, has_something_to_answer
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event, new_id
from agent_runtime.events.condensation import CondensationRequest
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.llm.cost import add_usage
from agent_runtime.llm.errors import DOWN, LLMContextWindowError, LLMError, LLMSpendingLimitError
from agent_runtime.metering.limits import ADMINISTRATOR_LIMIT_REACHED, BUDGET_REACHED
from agent_runtime.tools.tool import CallSuspendedError

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

_DONE = {ExecutionStatus.FINISHED, ExecutionStatus.IDLE}
_SPENT = {ADMINISTRATOR_LIMIT_REACHED, BUDGET_REACHED, LLMSpendingLimitError.__name__}


async def run(conversation: Running) -> None:
    """Works until there is nothing left to do, a pause is requested, or the run fails. Logs all of this.

    Raises only CancelledError, and then logs nothing about it.
    """
    if conversation.state.status is not ExecutionStatus.RUNNING:
        if not conversation.state.has_work:
            return
        conversation.emit(status_update(ExecutionStatus.RUNNING), *renewed(conversation))
    while True:
        failures, status = await _outcome(_work(conversation))
        # Before the end is reported: a client that hears of it may start the next run at once.
        await conversation.turns.end()
        # A message may have come meanwhile. The run was still going on, so nothing else answers it.
        if status not in _DONE or not conversation.state.has_work:
            break
    conversation.emit(*failures, *_end(conversation, status or _status_after(failures)))


async def condense(conversation: Running) -> None:
    """Makes the requested condensation. Logs its failures. Raises only what `run` raises."""
    plan = conversation.plan_condensation()
    if plan is not None:
        failures, _ = await _outcome(_condense(conversation, plan))
        conversation.emit(*failures, *([status_update(ExecutionStatus.ERROR)] if failures else []))


def _end(conversation: Running, status: ExecutionStatus) -> list[Event]:
    """The status, and what is to be said of a goal that is not reached."""
    if status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return []  # the question was logged together with the actions that it is about
    # A goal that waits for the user's answer is still pursued.
    undone = [] if status is ExecutionStatus.IDLE else interruption(conversation.state.goal)
    return [*undone, status_update(status)]


def _status_after(failures: Sequence[ConversationErrorEvent]) -> ExecutionStatus:
    """A spent budget is no failure: the user decides whether to go on. Nor is a model that is down."""
    may_go_on = any(failure.code in _SPENT | DOWN for failure in failures)
    return ExecutionStatus.PAUSED if may_go_on else ExecutionStatus.ERROR


async def _outcome(work: Awaitable[ResultT]) -> tuple[list[ConversationErrorEvent], ResultT | None]:
    """Either what went wrong, as an event, or the result."""
    try:
        return [], await work
    except LLMError as error:
        failure = ConversationErrorEvent(
            code=error.code, detail=str(error), classification=error.classification
        )
    except RunError as error:
        failure = error.event
    except Exception as error:
        logger.exception("run failed")
        failure = unexpected(error)
    return [failure], None


def unexpected(error: BaseException) -> ConversationErrorEvent:
    """Returns the event for an unexpected error."""
    return ConversationErrorEvent(
        code=type(error).__name__,
        detail=f"Something went wrong in the agent server: {error}",
        classification=ErrorClassification(kind="internal", retryable=True, user_action="retry"),
    )


async def _work(conversation: Running) -> ExecutionStatus:
    budget = Budget(conversation.request.max_iterations)
    while conversation.state.has_work or await is_sent_back(conversation):
        if conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
            return ExecutionStatus.WAITING_FOR_CONFIRMATION
        if conversation.state.wants_pause:
            return ExecutionStatus.PAUSED
        if not await has_something_to_answer(conversation):
            return ExecutionStatus.FINISHED
        if refused := conversation.state.refused_calls:
            conversation.emit(*(stuck.refusal(action) for action in refused))
        elif conversation.state.pending:
            await conversation.turns.ready()
            await _execute_pending(conversation)
        elif (plan := conversation.plan_condensation()) is not None:
            await _condense(conversation, plan)
        elif (loop := conversation.find_loop()) is not None:
            if (advice := loop.message()) is None:
                return ExecutionStatus.STUCK
            conversation.emit(advice)
        else:
            budget.take_iteration(conversation.request.max_iterations)
            check_cost(conversation)
            conversation.turns.steer()
            budget.count(await _ask_or_condense(conversation))
    # A question to the user ends the run, too, but nothing is done.
    return ExecutionStatus.IDLE if conversation.state.must_ask else ExecutionStatus.FINISHED


async def _execute_pending(conversation: Running) -> None:
    """Runs the calls of one reply, side by side where they allow it, and logs each result as it comes.

    A pause lets those end that have begun. One that asks the user waits, and the others go on. Leaves nothing
    running behind, however it ends.
    """
    running: dict[str, asyncio.Task[None]] = {}
    suspended: dict[str, CallSuspendedError] = {}
    try:
        while True:
            if not conversation.state.wants_pause:
                _begin(conversation, running, suspended)
            if not running:
                break
            done = await _first_done(conversation, running)
            for action_id in [action_id for action_id, task in running.items() if task in done]:
                try:
                    running.pop(action_id).result()
                except CallSuspendedError as suspension:
                    suspended[action_id] = suspension
    finally:
        for task in running.values():
            task.cancel()
        if running:
            await asyncio.wait(running.values())
    if any(one.waits_for_user for one in suspended.values()):
        conversation.emit(status_update(ExecutionStatus.WAITING_FOR_CONFIRMATION))


async def _first_done(
    conversation: Running, running: Mapping[str, asyncio.Task[None]]
) -> set[asyncio.Task[None]]:
    """Those that have ended. While all of them wait for an answer, they take no place from other runs."""
    first = partial(asyncio.wait, running.values(), return_when=asyncio.FIRST_COMPLETED)
    begun = [action for action in conversation.state.pending if action.id in running]
    tools = [conversation.tools.get(action.tool_name) for action in begun]
    if not tools or not all(tool is not None and tool.awaits_answer for tool in tools):
        done, _ = await first()
        return done
    async with conversation.making_room():
        done, _ = await first()
    return done


def _begin(conversation: Running, running: dict[str, asyncio.Task[None]], suspended: Collection[str]) -> None:
    free = conversation.agent.tool_concurrency_limit - len(running)
    begun = {*running, *suspended}
    waiting = [a for a in ready(conversation.state.pending, conversation.tools) if a.id not in begun]
    for action in waiting[:free]:
        call = call_tool(conversation, action)
        running[action.id] = asyncio.create_task(call, name=f"{action.tool_name} {action.id}")


async def _condense(conversation: Running, plan: CondensationPlan) -> None:
    """Has the older events summed up."""
    condenser = summarizer(conversation.agent.condenser)
    assert condenser is not None, "there is no plan without a condenser"
    llm = usage_llm(condenser, conversation.agent.llm)
    client, stats, reply = conversation.llm_client, conversation.state.stats, None
    if reads_same_cache(condenser, conversation.agent.llm):
        reply = await summarize_in_place(conversation.prompt(), llm, client)
        stats = add_usage(stats, llm, reply) if reply is not None else stats
    # Text beside a call of a tool says what comes next, and is no summary.
    if reply is None or reply.tool_calls or not reply.text.strip():
        reply = await summarize(plan, llm, client)
        stats = add_usage(stats, llm, reply)
    kept = conversation.kept_words(plan)
    condensation = plan.to_event(reply.text.strip(), reply.id, kept)
    conversation.emit(condensation, ConversationStateUpdateEvent(key="stats", value=stats))


async def _ask_or_condense(conversation: Running) -> ModelTurn | None:
    """One turn of the model; None when older events have to be condensed first."""
    try:
        return await _ask(conversation)
    except LLMContextWindowError:
        # What cannot be made shorter ends the run: the user has to know.
        if conversation.plan_condensation(is_requested=True) is None:
            raise
        conversation.emit(CondensationRequest())
        return None


async def _ask(conversation: Running) -> ModelTurn:
    """One turn of the model. What lands in the log meanwhile counts as unseen."""
    await conversation.prepare_tools()
    seen_seq = conversation.state.last_seq
    item_id = new_id()
    stream = conversation.stream(item_id)
    turn = await step(
        conversation.agent,
        conversation.tools,
        conversation.prompt(),
        conversation.llm_client,
        item_id=item_id,
        listener=stream,
    )
    if turn.was_empty:
        stream.drop("empty")
    else:
        stream.end()
    turn = await criticised(conversation, turn, stream)
    if any(isinstance(event, ActionEvent) for event in turn.events):
        await conversation.turns.ready()
    stats = add_usage(conversation.state.stats, conversation.agent.llm, turn.reply)
    update = ConversationStateUpdateEvent(key="stats", value=stats)
    found = conversation.review(turn.events)
    conversation.emit(*turn.events, update, *found, seen_seq=None if turn.was_empty else seen_seq)
    if conversation.state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        # Or else an error would take the place of the question.
        check_price(conversation, turn.reply)
    return turn
