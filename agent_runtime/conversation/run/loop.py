"""The loop of a run (the work of the agent until it stops). While the agent has something to do, the loop
executes pending tool calls (those without a result); if there are none, it asks the model for the next reply.
"""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from agent_runtime.agent import stuck
from agent_runtime.agent.execute import ready
from agent_runtime.agent.model_turn import ModelTurn, turn_of
from agent_runtime.agent.stuck import Loop
from agent_runtime.context.condense import (
    CondensationPlan,
    reads_same_cache,
    summarize,
    summarize_in_place,
    usage_llm,
)
from agent_runtime.conversation.event_log.reply_stream import ReplyStream
from agent_runtime.conversation.run.action_review import review_actions
from agent_runtime.conversation.run.budget import Budget, RunError, check_cost, check_price, renewed
from agent_runtime.conversation.run.completion import is_sent_back
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.critic_review import criticised
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.hook_dispatch import call_tool, has_something_to_answer
from agent_runtime.conversation.run.tool_setup import prepare_tools
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event, new_id
from agent_runtime.events.condensation import CondensationRequest
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.llm.conversation_costs import add_usage
from agent_runtime.llm.errors import DOWN, LLMContextWindowError, LLMError, LLMSpendingLimitError
from agent_runtime.metering.limits import ADMINISTRATOR_LIMIT_REACHED, BUDGET_REACHED
from agent_runtime.tools.tool import CallSuspendedError
from agent_runtime.wire import StuckDetectionThresholds

logger = logging.getLogger(__name__)

_DONE = {ExecutionStatus.FINISHED, ExecutionStatus.IDLE}
_SPENT = {ADMINISTRATOR_LIMIT_REACHED, BUDGET_REACHED, LLMSpendingLimitError.__name__}


async def run(context: RunContext) -> None:
    """Lets the agent work until there is nothing left to do, a pause is requested, or an error occurs. Logs
    how this work (the run) ended.

    Raises only CancelledError. If this coroutine is cancelled, it does not log the end of the run.
    """
    if context.state.status is not ExecutionStatus.RUNNING:
        if not context.state.has_work:
            return
        context.emit(status_update(ExecutionStatus.RUNNING), *renewed(context))
    while True:
        status: ExecutionStatus | None = None
        with _failures() as failures:
            status = await _work(context)
        # The checkpoint is made before the end is reported, because a client may start the next run as soon
        # as it knows the end.
        await context.checkpoint_triggers.end()
        # A message may have come meanwhile. It started no run, because this run was still going on. So this
        # run must answer it.
        if status not in _DONE or not context.state.has_work:
            break
    context.emit(*failures, *_end(context, status or _status_after(failures)))


async def condense(context: RunContext) -> None:
    """Makes the condensation that a user has requested: a summary that replaces older events in the prompt.
    Logs failures as events. Raises only CancelledError.
    """
    plan = context.model_input.plan_condensation(context.agent)
    if plan is not None:
        with _failures() as failures:
            await _condense(context, plan)
        context.emit(*failures, *([status_update(ExecutionStatus.ERROR)] if failures else []))


def _end(context: RunContext, status: ExecutionStatus) -> list[Event]:
    """Returns the events that log the end of a run (work of the agent): the new status of the conversation,
    and the interruption of the conversation's goal if a goal is active.
    """
    if status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return []  # the question was logged together with the actions that it is about
    # A goal that waits for the user's answer is still pursued.
    undone = [] if status is ExecutionStatus.IDLE else interruption(context.state.goal)
    return [*undone, status_update(status)]


def _status_after(failures: Sequence[ConversationErrorEvent]) -> ExecutionStatus:
    """Returns the status of the conversation after a run (work of the agent) has failed. The status is
    `paused` if the budget is spent or the model is unavailable, because the user can then continue the work
    later. Otherwise the status is `error`. `failures`: the events about the errors of the run.
    """
    may_go_on = any(failure.code in _SPENT | DOWN for failure in failures)
    return ExecutionStatus.PAUSED if may_go_on else ExecutionStatus.ERROR


@contextmanager
def _failures() -> Iterator[list[ConversationErrorEvent]]:
    """Catches the error that ends the `with` block, so that the program continues after the block. Yields a
    list. After the block, the list contains one event about the error, or is empty if there was no error.
    CancelledError is not caught.
    """
    failures: list[ConversationErrorEvent] = []
    try:
        yield failures
    except LLMError as error:
        failures.append(
            ConversationErrorEvent(code=error.code, detail=str(error), classification=error.classification)
        )
    except RunError as error:
        failures.append(error.event)
    except Exception as error:
        logger.exception("run failed")
        failures.append(unexpected(error))


def unexpected(error: BaseException) -> ConversationErrorEvent:
    """Returns the event that informs the users of a conversation about an unexpected error of the server."""
    return ConversationErrorEvent(
        code=type(error).__name__,
        detail=f"The agent server had an internal error: {error}",
        classification=ErrorClassification(kind="internal", retryable=True, user_action="retry"),
    )


async def _work(context: RunContext) -> ExecutionStatus:
    budget = Budget(context.request.max_iterations)
    while context.state.has_work or await is_sent_back(context):
        if context.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
            return ExecutionStatus.WAITING_FOR_CONFIRMATION
        if context.state.wants_pause:
            return ExecutionStatus.PAUSED
        if not await has_something_to_answer(context):
            return ExecutionStatus.FINISHED
        if refused := context.state.refused_calls:
            context.emit(*(stuck.refusal(action) for action in refused))
        elif context.state.pending:
            await context.checkpoint_triggers.ready()
            await _execute_pending(context)
        elif (plan := context.model_input.plan_condensation(context.agent)) is not None:
            await _condense(context, plan)
        elif (loop := _find_loop(context)) is not None:
            if (advice := loop.message()) is None:
                return ExecutionStatus.STUCK
            context.emit(advice)
        else:
            budget.take_iteration(context.request.max_iterations)
            check_cost(context)
            context.checkpoint_triggers.steer()
            budget.count(await _ask(context))
    # A question to the user also ends the run, but then the work is not finished.
    return ExecutionStatus.IDLE if context.state.must_ask else ExecutionStatus.FINISHED


def _find_loop(context: RunContext) -> Loop | None:
    """Returns a Loop if the agent repeats the same steps without progress. The Loop says what to do: give the
    agent advice, or stop it. Returns None if the agent repeats nothing, or if this check is turned off.
    """
    request = context.request
    if not request.stuck_detection:
        return None
    limits = request.stuck_detection_thresholds or StuckDetectionThresholds()
    return stuck.look(context.state.trail, limits, may_ask=request.ask_when_stuck)


async def _execute_pending(context: RunContext) -> None:
    """Executes the pending tool calls (those without a result) of one reply, in parallel where the tools
    allow it. Logs each result as soon as the call has ended.

    After a pause request, no further call begins, but calls that have begun are completed. A call can be
    suspended without a result, for example until the user confirms an action of a sub-agent. The other calls
    continue; after them, the status `waiting_for_confirmation` is logged if a call waits for the user. No
    call is still running when this function returns or raises.
    """
    running: dict[str, asyncio.Task[None]] = {}
    suspended: dict[str, CallSuspendedError] = {}
    try:
        while True:
            if not context.state.wants_pause:
                _begin(context, running, suspended)
            if not running:
                break
            done = await _first_done(context, running)
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
        context.emit(status_update(ExecutionStatus.WAITING_FOR_CONFIRMATION))


async def _first_done(
    context: RunContext, running: Mapping[str, asyncio.Task[None]]
) -> set[asyncio.Task[None]]:
    """Waits until at least one of the running tool calls has ended, and returns the tasks of the ended calls.
    While all running calls only wait for a client's answer, the run slot (the permission to run) is free for
    other conversations.
    """
    first = partial(asyncio.wait, running.values(), return_when=asyncio.FIRST_COMPLETED)
    begun = [action for action in context.state.pending if action.id in running]
    tools = [context.tools.get(action.tool_name) for action in begun]
    if not tools or not all(tool is not None and tool.awaits_answer for tool in tools):
        done, _ = await first()
        return done
    async with context.slot_released():
        done, _ = await first()
    return done


def _begin(context: RunContext, running: dict[str, asyncio.Task[None]], suspended: Collection[str]) -> None:
    free = context.agent.tool_concurrency_limit - len(running)
    begun = {*running, *suspended}
    waiting = [a for a in ready(context.state.pending, context.tools) if a.id not in begun]
    for action in waiting[:free]:
        call = call_tool(context, action)
        running[action.id] = asyncio.create_task(call, name=f"{action.tool_name} {action.id}")


async def _condense(context: RunContext, plan: CondensationPlan) -> None:
    """Asks a model to summarize the events that the plan selects, and logs the summary."""
    llm = usage_llm(plan.condenser, context.agent.llm)
    client, stats, reply = context.llm_client, context.state.stats, None
    if reads_same_cache(plan.condenser, context.agent.llm):
        reply = await summarize_in_place(context.model_input.prompt(), llm, client)
        stats = add_usage(stats, llm, reply) if reply is not None else stats
    # If the reply calls a tool, its text says what the model does next. It is not a summary.
    if reply is None or reply.tool_calls or not reply.text.strip():
        reply = await summarize(plan, llm, client)
        stats = add_usage(stats, llm, reply)
    unsummarized = context.model_input.verbatim_text(plan)
    condensation = plan.to_event(reply.text.strip(), reply.id, unsummarized)
    context.emit(condensation, ConversationStateUpdateEvent(key="stats", value=stats))


async def _ask(context: RunContext) -> ModelTurn | None:
    """Asks the model for one reply, logs the reply and returns it. Events that are logged while the model
    writes the reply count as not seen by the model.

    If the prompt is too long for the model, requests a condensation (a summary that replaces older events)
    and returns None. Raises LLMContextWindowError if there is nothing to condense.
    """
    await prepare_tools(context)
    seen_seq = context.state.last_seq
    item_id = new_id()
    stream = ReplyStream(item_id, context.history.publish, context.secrets.masker)
    prompt = context.model_input.prompt()
    try:
        reply = await context.llm_client.complete(context.agent.llm, prompt, stream)
    except LLMContextWindowError:
        # If nothing can be condensed, the error ends the run, so that the user sees it.
        if context.model_input.plan_condensation(context.agent, is_requested=True) is None:
            raise
        context.emit(CondensationRequest())
        return None
    turn = turn_of(reply, context.tools, prompt.messages, item_id=item_id)
    if turn.was_empty:
        stream.drop("empty")
    else:
        stream.end()
    turn = await criticised(context, turn, stream)
    if any(isinstance(event, ActionEvent) for event in turn.events):
        await context.checkpoint_triggers.ready()
    stats = add_usage(context.state.stats, context.agent.llm, turn.reply)
    update = ConversationStateUpdateEvent(key="stats", value=stats)
    found = review_actions(context, turn.events)
    context.emit(*turn.events, update, *found, seen_seq=None if turn.was_empty else seen_seq)
    if context.state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        # While the run waits for the user's confirmation, an error would hide that question.
        check_price(context, turn.reply)
    return turn
