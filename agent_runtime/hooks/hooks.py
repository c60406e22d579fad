"""Runs the hooks of a conversation (commands, or questions to a model) and logs an event about each hook."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.events.base import Event, JsonObject
from agent_runtime.events.hook import HookExecutionEvent, HookPoint
from agent_runtime.hooks.config import HookConfig, HookDefinition
from agent_runtime.hooks.outcome import Outcome, failed, of_command
from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.approved_files import objection
from agent_runtime.workspace.environment import bash_path, command_environment
from agent_runtime.workspace.processes import run_program

MAX_OUTPUT_BYTES = 1024 * 1024

AskModel = Callable[[str, JsonObject], Awaitable[Outcome]]
"""A function that asks the agent's model the question of a prompt hook about the hook's input, and returns
the model's decision. The function must not raise an error.
"""

Emit = Callable[[Event], None]
Begin = Callable[[Coroutine[Any, Any, None], str], object]
"""A function that starts a coroutine as a background task and keeps a reference to the task. The second
argument is the name of the task.
"""


@dataclass(frozen=True)
class Occasion:
    """A moment in a conversation at which hooks run, such as before a tool call. `point`: the kind of moment.
    `input`: the data that the hooks get. `tool_name`: the called tool; None if no tool is called.
    `action_id`, `message_id`: the id of the tool call or message that the hooks may refuse; None if there is
    none. The events about the hooks contain this id.
    """

    point: HookPoint
    input: JsonObject
    tool_name: str | None = None
    action_id: str | None = None
    message_id: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The combined decision of all hooks that ran at one moment. `refusal`: the reason if a hook refuses;
    otherwise None. `context`: the texts that the hooks give to the agent.
    """

    refusal: str | None = None
    context: str = ""


class Hooks:
    """An object that runs the hooks of one conversation, one after the other. After a hook has refused the
    action or message that it checks, the following hooks do not run. Asynchronous hooks run in the
    background; the conversation does not wait for them, so they cannot refuse anything.
    """

    def __init__(
        self,
        config: HookConfig,
        *,
        session_id: str,
        working_dir: Path,
        ask_model: AskModel,
        emit: Emit,
        begin: Begin,
    ) -> None:
        self._config = config
        self._session_id = session_id
        self._working_dir = working_dir
        self._ask_model = ask_model
        self._emit = emit
        self._begin = begin

    def has(self, point: HookPoint, tool_name: str | None = None) -> bool:
        return bool(self._config.of(point, tool_name))

    async def run(self, occasion: Occasion) -> Verdict:
        contexts: list[str] = []
        for hook in self._config.of(occasion.point, occasion.tool_name):
            if hook.is_async:
                self._begin(self._run_in_background(hook, occasion), f"hook {occasion.point}")
                continue
            outcome = await self._run(hook, occasion)
            self._emit(_event(hook, occasion, outcome))
            if outcome.context:
                contexts.append(outcome.context)
            if outcome.is_blocked:
                return Verdict(outcome.reason or "A hook refused it.", "\n\n".join(contexts))
        return Verdict(context="\n\n".join(contexts))

    async def _run_in_background(self, hook: HookDefinition, occasion: Occasion) -> None:
        self._emit(_event(hook, occasion, await self._run(hook, occasion)))

    async def _run(self, hook: HookDefinition, occasion: Occasion) -> Outcome:
        directory = Path(hook.project_dir) if hook.project_dir else self._working_dir
        payload = self._payload(occasion, directory)
        if (changed := await asyncio.to_thread(objection, hook.approved_files)) is not None:
            return failed(changed)
        if hook.type == "command":
            return await self._run_command(hook, occasion, payload, directory)
        try:
            async with time_limit(hook.timeout):
                return await self._ask_model(hook.text, payload)
        except TimeoutError:
            return _too_late(hook)

    async def _run_command(
        self, hook: HookDefinition, occasion: Occasion, payload: JsonObject, directory: Path
    ) -> Outcome:
        try:
            done = await run_program(
                bash_path(),
                "-c",
                hook.command,
                cwd=directory,
                environment=command_environment(self._variables(occasion, directory)),
                timeout_seconds=hook.timeout,
                stdin=orjson.dumps(payload),
                max_output_bytes=MAX_OUTPUT_BYTES,
            )
        except TimeoutError:
            return _too_late(hook)
        except OSError as error:
            return failed(f"It could not be started: {error}.")
        return of_command(done.exit_code, done.stdout, done.stderr)

    def _payload(self, occasion: Occasion, directory: Path) -> JsonObject:
        """Returns the JSON data that a hook gets as its input. The data contains `occasion.input` and general
        fields, such as `session_id`. The fields `hook_event_name`, `cwd` and `prompt` are for hooks that were
        written for Claude Code.

        `occasion`: the moment in the conversation at which the hook runs. `directory`: the directory where
        the hook runs.
        """
        return {
            "event_type": occasion.point.value,
            "session_id": self._session_id,
            "working_dir": str(directory),
            "metadata": {},
            **occasion.input,
            "hook_event_name": occasion.point.value,
            "cwd": str(directory),
            **({"prompt": occasion.input["message"]} if "message" in occasion.input else {}),
        }

    def _variables(self, occasion: Occasion, directory: Path) -> dict[str, str]:
        return {
            "OPENHANDS_PROJECT_DIR": str(directory),
            "OPENHANDS_SESSION_ID": self._session_id,
            "OPENHANDS_EVENT_TYPE": occasion.point.value,
            "CLAUDE_PROJECT_DIR": str(directory),
            **({"OPENHANDS_TOOL_NAME": occasion.tool_name} if occasion.tool_name else {}),
        }


def _too_late(hook: HookDefinition) -> Outcome:
    return failed(f"It did not end within {hook.timeout:g} seconds.")


def _event(hook: HookDefinition, occasion: Occasion, outcome: Outcome) -> HookExecutionEvent:
    return HookExecutionEvent(
        hook_event_type=occasion.point,
        hook_command=hook.text,
        tool_name=occasion.tool_name,
        success=outcome.error is None and not outcome.is_blocked,
        blocked=outcome.is_blocked,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        reason=outcome.reason,
        additional_context=outcome.context,
        error=outcome.error,
        action_id=occasion.action_id,
        message_id=occasion.message_id,
        hook_input=occasion.input or None,
    )
