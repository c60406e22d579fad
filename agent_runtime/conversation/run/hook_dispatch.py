"""Calls the hooks of a conversation before and after tool calls, for new messages, and when the agent stops.
A hook is a command, or a question to a model, that the configuration of a conversation defines for these
occasions. In a conversation without hooks, no hook is called and all tool calls and messages are allowed.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from pydantic import ValidationError

from agent_runtime.agent.execute import execute
from agent_runtime.conversation.errors import HookConfigError
from agent_runtime.conversation.path_rules import with_rules
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.prompt_hooks import ask_hook
from agent_runtime.conversation.run.result_reuse import LOOK_BACK_EVENTS, reused
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.hook import HookPoint
from agent_runtime.events.message import MessageEvent, runtime_message
from agent_runtime.events.observation import ObservationEvent, ToolResult, UserRejectObservation
from agent_runtime.hooks.config import HookConfig
from agent_runtime.hooks.hooks import Hooks, Occasion
from agent_runtime.time_limits import time_limit

MAX_STOP_DENIALS = 5
"""How often Stop hooks may make the agent continue after one message of the user. Then the agent stops, so
that the user can look at the agent's work.
"""

SESSION_END_SECONDS = 5


def parse_hooks(config: JsonObject | None) -> HookConfig | None:
    """Reads the hooks (commands, or questions to a model) from a conversation's configuration. Returns None
    if there are no hooks. Raises HookConfigError if the configuration is not valid.
    """
    try:
        parsed = HookConfig.model_validate(config or {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(map(str, ("hook_config", *first["loc"])))
        raise HookConfigError(f"{where}: {first['msg']}") from error
    return None if parsed.is_empty else parsed


def open_session(context: RunContext, config: HookConfig | None) -> "OpenSession | None":
    """Creates the object that runs the hooks of the conversation, and returns it. No hook runs yet. Returns
    None if the conversation has no hooks. `config`: the configuration of the hooks.
    """
    if config is None:
        return None
    hooks = Hooks(
        config,
        session_id=str(context.id),
        working_dir=context.working_dir,
        ask_model=partial(ask_hook, context),
        emit=context.emit,
        begin=context.background.begin,
    )
    return OpenSession(hooks)


class OpenSession:
    """An object that runs the hooks of a conversation. A session begins when the agent begins to work; then
    the SessionStart hooks run. The session ends when the conversation is closed or its resources are freed;
    then the SessionEnd hooks run. If the agent works again later, another session begins.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._has_started = False
        self._admitted: set[str] = set()

    async def admit(self, context: RunContext, messages: Sequence[MessageEvent]) -> None:
        """Runs the UserPromptSubmit hooks for each new message of the user, before the model sees the
        message. If no session is open, first begins one by running the SessionStart hooks.

        `messages`: the user's messages that the model has not seen yet.
        """
        if not self._has_started:
            self._has_started = True
            await self._run(context, Occasion(HookPoint.SESSION_START, {}))
        for message in messages:
            if message.id not in self._admitted:
                said = {"message": message.llm_message.text}
                await self._run(context, Occasion(HookPoint.USER_PROMPT_SUBMIT, said, message_id=message.id))
        self._admitted = {message.id for message in messages}

    async def call(self, context: RunContext, action: ActionEvent) -> None:
        """Runs the tool call if the hooks allow it, and logs the result."""
        if (refusal := await self._objection(action)) is not None:
            context.emit(refusal)
            return
        result = await execute(action, context.tools)
        context.emit(_with_rules(context, result))
        if isinstance(result, ObservationEvent):
            response = {"tool_response": result.observation}
            occasion = _tool_use(HookPoint.POST_TOOL_USE, action, response)
            refused = await self._run(context, occasion)
            if refused is not None:
                context.emit(runtime_message(f"A hook looked at what `{action.tool_name}` did: {refused}"))

    async def object_to_stop(self, context: RunContext) -> bool:
        """Runs the Stop hooks when the agent says that it is done, and returns whether the agent must
        continue because a hook demands this. If it must, the hook's reason is logged as a message to the
        agent.

        Hooks can make the agent continue at most MAX_STOP_DENIALS times after each message of the user. After
        that, returns False and logs the hook's objection as an error for the user.
        """
        denials = context.state.stop_denials
        occasion = Occasion(HookPoint.STOP, {"stop_hook_active": denials > 0})
        refused = await self._run(context, occasion)
        if refused is None:
            return False
        if denials >= MAX_STOP_DENIALS:
            context.emit(_overruled(refused))
            return False
        context.emit(runtime_message(f"You are not done yet. A hook says: {refused}"))
        return True

    async def end(self) -> None:
        """Ends the session by running the SessionEnd hooks. Cancels hooks that run longer than
        SESSION_END_SECONDS. Does nothing if no session is open.
        """
        if not self._has_started:
            return
        self._has_started = False
        with suppress(TimeoutError):
            async with time_limit(SESSION_END_SECONDS):
                await self._hooks.run(Occasion(HookPoint.SESSION_END, {}))

    async def _objection(self, action: ActionEvent) -> UserRejectObservation | None:
        verdict = await self._hooks.run(_tool_use(HookPoint.PRE_TOOL_USE, action, {}))
        if verdict.refusal is None:
            return None
        return UserRejectObservation(
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            rejection_reason=verdict.refusal,
            rejection_source="hook",
            action_id=action.id,
        )

    async def _run(self, context: RunContext, occasion: Occasion) -> str | None:
        """Runs the hooks for one occasion, such as a new message, and logs the hooks' messages to the agent.
        If a hook refuses the tool call, the message or the end of the agent's work, returns the hook's
        reason. Otherwise returns None.
        """
        verdict = await self._hooks.run(occasion)
        if verdict.context and not (verdict.refusal and occasion.message_id):
            context.emit(runtime_message(verdict.context))
        return verdict.refusal


async def call_tool(context: RunContext, action: ActionEvent) -> None:
    """Runs the tool call, with the hooks if there are any, and logs the result. Cancelling this coroutine
    interrupts the tool.
    """
    if context.hooks is not None:
        await context.hooks.call(context, action)
        return
    # Earlier results are reused only without hooks, because hooks are commands that may have changed
    # anything.
    known = reused(action, context.history.recent_events(LOOK_BACK_EVENTS), context.tools)
    context.emit(known or _with_rules(context, await execute(action, context.tools)))


def _with_rules(context: RunContext, result: ToolResult) -> ToolResult:
    """Returns the result of a tool call with added path rules (instructions for certain files). The added
    rules are those for the files that the call has read or changed, except rules that the model already has.
    """
    return with_rules(result, context.state, context.tools, context.spec)


async def has_something_to_answer(context: RunContext) -> bool:
    """Returns whether the agent has something to do, such as an unanswered message. Before that, runs the
    hooks for new messages of the user if no tool call waits for its result. A message that a hook refuses
    does not count.
    """
    if context.hooks is not None and not context.state.pending:
        await context.hooks.admit(context, context.model_input.unseen_messages())
    return context.state.has_work


def _tool_use(point: HookPoint, action: ActionEvent, more: JsonObject) -> Occasion:
    said = {"tool_name": action.tool_name, "tool_input": action.action or {}, **more}
    return Occasion(point, said, tool_name=action.tool_name, action_id=action.id)


def _overruled(refusal: str) -> ConversationErrorEvent:
    limited = ErrorClassification(kind="agent_action", retryable=True, user_action="retry")
    return ConversationErrorEvent(
        code="StopHookOverruled",
        detail=f"A Stop hook has sent the agent back {MAX_STOP_DENIALS} times and still objects: {refusal} "
        "The run ends all the same. Send a message to have it go on.",
        classification=limited,
    )
