"""Calls a conversation's hooks at the points of a run. Does nothing in a conversation without hooks."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from pydantic import ValidationError

from agent_runtime.agent.execute import execute
from agent_runtime.conversation.errors import HookConfigError
from agent_runtime.conversation.run.context import Running
from agent_runtime.conversation.run.prompt_hooks import ask_hook
from agent_runtime.conversation.run.result_reuse import LOOK_BACK_EVENTS, reused
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.hook import HookPoint
from agent_runtime.events.message import MessageEvent, told
from agent_runtime.events.observation import ObservationEvent, UserRejectObservation
from agent_runtime.hooks.config import HookConfig
from agent_runtime.hooks.hooks import Begin, Hooks, Occasion

MAX_STOP_DENIALS = 5
"""How often Stop hooks may send the agent back. After that the run ends, so that the user can look at it."""

SESSION_END_SECONDS = 5


def parse_hooks(config: JsonObject | None) -> HookConfig | None:
    """Returns the hooks of a configuration. Returns None if there are no hooks. Raises HookConfigError."""
    try:
        parsed = HookConfig.model_validate(config or {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(map(str, ("hook_config", *first["loc"])))
        raise HookConfigError(f"{where}: {first['msg']}") from error
    return None if parsed.is_empty else parsed


def open_session(conversation: Running, config: HookConfig | None, begin: Begin) -> "OpenSession | None":
    """Returns the session of the hooks. Returns None if there are no hooks. `begin`: starts background tasks
    and owns them.
    """
    if config is None:
        return None
    hooks = Hooks(
        config,
        session_id=str(conversation.id),
        working_dir=conversation.working_dir,
        ask_model=partial(ask_hook, conversation),
        emit=conversation.emit,
        begin=begin,
    )
    return OpenSession(hooks)


class OpenSession:
    """Runs the hooks of a conversation. One session lasts for as long as the conversation is open."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._has_started = False
        self._admitted: set[str] = set()

    async def admit(self, conversation: Running, messages: Sequence[MessageEvent]) -> None:
        """Runs the hooks for the start of the session and for new messages of the user, before the model sees
        them.

        `messages`: the user's messages that the model has not seen yet.
        """
        if not self._has_started:
            self._has_started = True
            await self._run(conversation, Occasion(HookPoint.SESSION_START, {}))
        for message in messages:
            if message.id not in self._admitted:
                said = {"message": message.llm_message.text}
                await self._run(
                    conversation, Occasion(HookPoint.USER_PROMPT_SUBMIT, said, message_id=message.id)
                )
        self._admitted = {message.id for message in messages}

    async def call(self, conversation: Running, action: ActionEvent) -> None:
        """Runs the action if the hooks allow it, and logs the result."""
        if (refusal := await self._objection(action)) is not None:
            conversation.emit(refusal)
            return
        result = await execute(action, conversation.tools)
        conversation.emit(conversation.instructed(result))
        if isinstance(result, ObservationEvent):
            response = {"tool_response": result.observation}
            occasion = _tool_use(HookPoint.POST_TOOL_USE, action, response)
            refused = await self._run(conversation, occasion)
            if refused is not None:
                conversation.emit(told(f"A hook looked at what `{action.tool_name}` did: {refused}"))

    async def object_to_stop(self, conversation: Running) -> bool:
        """Whether the hooks send the agent back to work. Their objection is in the log then."""
        denials = conversation.state.stop_denials
        occasion = Occasion(HookPoint.STOP, {"stop_hook_active": denials > 0})
        refused = await self._run(conversation, occasion)
        if refused is None:
            return False
        if denials >= MAX_STOP_DENIALS:
            conversation.emit(_overruled(refused))
            return False
        conversation.emit(told(f"You are not done yet. A hook says: {refused}"))
        return True

    async def end(self) -> None:
        """Runs the hooks for the end of the session. Hooks that take too long for a shutdown are ended."""
        if not self._has_started:
            return
        self._has_started = False
        with suppress(TimeoutError):
            async with asyncio.timeout(SESSION_END_SECONDS):
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

    async def _run(self, conversation: Running, occasion: Occasion) -> str | None:
        """The refusal, if there is one. What the hooks want the agent to know is in the log."""
        verdict = await self._hooks.run(occasion)
        if verdict.context and not (verdict.refusal and occasion.message_id):
            conversation.emit(told(verdict.context))
        return verdict.refusal


async def call_tool(conversation: Running, action: ActionEvent) -> None:
    """Runs the action and logs the result. Cancelling it interrupts the tool."""
    if conversation.hooks is not None:
        await conversation.hooks.call(conversation, action)
        return
    # Not beside hooks, which are commands that may have changed anything.
    known = reused(action, conversation.recent_events(LOOK_BACK_EVENTS), conversation.tools)
    conversation.emit(known or conversation.instructed(await execute(action, conversation.tools)))


async def has_something_to_answer(conversation: Running) -> bool:
    """Runs the hooks on new messages and returns whether there is still work for the agent."""
    if conversation.hooks is not None and not conversation.state.pending:
        await conversation.hooks.admit(conversation, conversation.unseen_messages())
    return conversation.state.has_work


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
