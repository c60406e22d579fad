"""The engine of a dialogue between a user and an agent. All its state follows from its log."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.agent.agent import Agent, system_prompt_event
from agent_runtime.conversation.approval.pending_actions import ANSWERED_BY_MESSAGE, rejections
from agent_runtime.conversation.checkpoints.snapshots import Checkpoints
from agent_runtime.conversation.checkpoints.triggers import Turns
from agent_runtime.conversation.errors import AlreadyRunningError
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.history import Subscriber
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.info import describe
from agent_runtime.conversation.keys import ConversationKeys
from agent_runtime.conversation.message import message_event
from agent_runtime.conversation.naming import Naming
from agent_runtime.conversation.run.background_tasks import Aside
from agent_runtime.conversation.run.condensing import Condensing
from agent_runtime.conversation.run.deferred_completion import write_ending
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.hook_dispatch import open_session, parse_hooks
from agent_runtime.conversation.run.loop import run
from agent_runtime.conversation.run.recovery import recover, unanswered
from agent_runtime.conversation.run.slots import RunSlot, RunSlots
from agent_runtime.conversation.run.task import RunTask
from agent_runtime.conversation.sealed_keys import Sealing
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.working import SECRETS, Working
from agent_runtime.events.base import Event
from agent_runtime.events.message import Message
from agent_runtime.events.state import (
    FULL_STATE,
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
    status_update,
)
from agent_runtime.llm.complete import LLMClient
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.wire import ConversationInfo
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.environment import BELONGS_TO, OF_CONVERSATION
from agent_runtime.workspace.processes import end_marked

_ENDED_BY_MESSAGE = {
    ExecutionStatus.FINISHED,
    ExecutionStatus.STUCK,
    ExecutionStatus.WAITING_FOR_CONFIRMATION,
}


class ConversationEngine(Working):
    """A conversation: `send` messages, then `run` it. There is one live object per log. Use it from one event
    loop.

    The module `creation` creates and opens it. Functions that need only its public members are in other
    modules: `changes`, `branches`, `run/recovery`.
    """

    def __init__(
        self,
        directory: Path,
        log: EventLog,
        spec: Spec,
        agent: Agent,
        client: LLMClient,
        slots: RunSlots | None = None,
        secrets: Secrets | None = None,
        delegation: Delegation = ALONE,
        sealing: Sealing | None = None,
    ) -> None:
        """Called by `creation`. Owns the log. The caller owns the client and the slots."""
        super().__init__(directory, log, spec, agent, client, secrets or Secrets(), delegation)
        self.keys = ConversationKeys(self, self._toolbox, sealing)
        # Clients wait for this frame to know that the run is over: it comes last, when no run is going on.
        self._run_task = RunTask(spec.id, on_end=self.publish_full_state, on_lost=self._owe_ending)
        self.slots = slots or RunSlots()
        self._turn: RunSlot | None = None
        self._aside = Aside(spec.id)
        self.condensing = Condensing(self, self._aside.begin)
        self.naming = Naming(self, self._aside.begin)
        self.checkpoints = Checkpoints(log, directory, spec.working_dir)
        self.turns = Turns(self, self.checkpoints, self._aside.begin)
        self.hooks = open_session(self, parse_hooks(spec.request.hook_config), self._aside.begin)
        self.is_closed = False
        self.is_deleted = False

    @property
    def is_running(self) -> bool:
        return self._run_task.is_running

    @property
    def is_busy(self) -> bool:
        """Whether it must stay open: a run or other work is going on, or a tool holds work such as a server
        in a shell.
        """
        is_working = self.is_running or self.condensing.is_under_way or self._aside.is_busy
        return is_working or any(tool.holds_work() for tool in self.tools.values())

    @property
    def status(self) -> ExecutionStatus:
        """The current status: `running` only while a run is going on. If the log says `running` without a
        run, the run was cut off and the status is `idle`.
        """
        if self.is_running:
            return ExecutionStatus.RUNNING
        stored = self.state.status
        return ExecutionStatus.IDLE if stored is ExecutionStatus.RUNNING else stored

    @property
    def is_waiting(self) -> bool:
        """Whether actions wait for confirmation."""
        return self.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION and not self.is_running

    # Talking to it

    def send(self, message: Message, *, message_id: str | None = None, sender: str | None = None) -> bool:
        """Adds a message. A run that is going on will answer it. Returns False if a message with this id
        exists already.

        `sender`: the name of the person who wrote it. None means the owner of the conversation.

        A new message rejects the actions that wait for confirmation.
        """
        if message_id is not None and self.log.seq_of(message_id) is not None:
            return False
        is_first = self.state.last_user_message_id is None
        said = message_event(
            message,
            message_id,
            self.spec.project,
            self.agent.agent_context,
            known_skills=self.state.activated_skills,
            is_first=is_first,
            sender=sender,
        )
        events: list[Event] = [said]
        if not self.state.has_system_prompt:
            opening = system_prompt_event(
                self.agent,
                self.tools,
                self.spec.project,
                working_dir=self.spec.working_dir,
                secrets=self.secrets.descriptions,
            )
            events.insert(0, opening)
        if self.is_waiting:
            events = [*rejections(self.state.pending, ANSWERED_BY_MESSAGE), *events]
        if not self.is_running and self.state.status in _ENDED_BY_MESSAGE:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
        if is_first and self.hooks is None:
            self.naming.begin_if_wanted()
        return True

    def start(self) -> None:
        """Starts a run in the background, or continues one that was cut off.

        Raises AlreadyRunningError if a run is going on.
        """
        if self.state.status is ExecutionStatus.RUNNING:
            recover(self)
        self._run_task.start(self._run)

    async def wait(self) -> None:
        """Waits until no run is going on."""
        await self._run_task.wait()

    async def run(self) -> None:
        """Starts a run and waits for its end. Cancelling the wait does not stop the run."""
        self.start()
        await self.wait()

    def pause(self) -> None:
        """Stops a run before its next step; a running command ends first. Actions that wait for confirmation
        keep waiting.
        """
        if self.is_waiting:
            self.emit(PauseEvent())
            return
        if not self.is_running:
            self.emit(PauseEvent(), *interruption(self.state.goal), status_update(ExecutionStatus.PAUSED))
            self.publish_full_state()
            return
        self.emit(PauseEvent())
        if self._turn is not None:
            self._turn.give_up()

    async def interrupt(self) -> None:
        """Stops a run at once: drops the model's reply, cancels a running tool and answers each open call."""
        if await self._run_task.interrupt() and not self.is_closed:
            self.beside(self.turns.end(), "checkpoint")
            self.emit(
                InterruptEvent(),
                *unanswered(self, by="by the user"),
                *interruption(self.state.goal),
                status_update(ExecutionStatus.PAUSED),
            )
            self.publish_full_state()

    def require_rest(self) -> None:
        """Raises AlreadyRunningError while a run or a condensation is going on."""
        if self.is_running or self.condensing.is_under_way:
            raise AlreadyRunningError

    def beside(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Starts background work that is not part of a run. It ends when the conversation is closed, at the
        latest.
        """
        return self._aside.begin(work, name)

    def expect_other_tools(self) -> None:
        """Makes the engine ask the MCP servers for their tools again before the model's next reply."""
        self._toolbox.expect_changes()

    def keep_secrets(self) -> None:
        """Stores the names and descriptions of the secrets, and addresses without credentials. Stores their
        values only if they can be encrypted.
        """
        self.log.set_meta(SECRETS, orjson.dumps(self.secrets.keepable()).decode())
        self.keys.keep()
        self.publish_full_state()

    async def close(self) -> None:
        """Stops the work and frees all resources. The log still says what was going on, so that it can
        continue later. Safe to call twice.
        """
        if self.is_closed:
            return
        was_running = self.is_running
        await self._run_task.cancel()
        await self.rest()
        if was_running and not self.is_deleted:
            # Or else what the agent did would look like the work of others.
            await self.turns.end()
        await self._aside.close()
        self.release()

    async def rest(self) -> None:
        """Ends the session: hooks, shells and other tools. The next run begins a new session."""
        if self.hooks is not None:
            await self.hooks.end()
        await self._toolbox.close()

    def release(self) -> None:
        """Closes the log, so that it can be opened again. Call it only while nothing is going on."""
        self.live.close()
        self._history.save_snapshot()
        self._history.save_summary()
        self.log.close()
        self.is_closed = True
        self._history.publish(frames.END)

    async def delete(self) -> None:
        """Closes the conversation, ends the processes that its agent has left, and removes its directory.
        Keeps the workspace.
        """
        self.is_deleted = True
        await self.close()
        own = {OF_CONVERSATION: str(self.id), BELONGS_TO: os.environ.get(BELONGS_TO)}
        await asyncio.to_thread(end_marked, own)
        await asyncio.to_thread(private_tree.remove, self.directory)

    # Watching it

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` with every frame from now on. Returns a function that ends the subscription."""
        return self._history.subscribe(subscriber)

    def info(self) -> ConversationInfo:
        info = describe(self.spec, self.state, self.status, self.directory)
        return info.model_copy(update={"secret_registry": {"secret_sources": self.secrets.keepable()}})

    def full_state(self) -> ConversationStateUpdateEvent:
        """Returns the whole state as one event. This event is published, never logged."""
        value = self.info().model_dump(mode="json", exclude_none=True)
        return ConversationStateUpdateEvent(key=FULL_STATE, value=value)

    def publish_full_state(self) -> None:
        self._history.publish(frames.transient(self.full_state()))

    def adopt(self, spec: Spec, agent: Agent) -> None:
        """Adds skills, MCP servers and hooks to the conversation, as the new spec and agent say.

        Raises HookConfigError or pydantic.ValidationError; nothing has changed then.
        """
        hooks = parse_hooks(spec.request.hook_config)
        self._toolbox.extend(spec, agent)
        self.log.set_spec(spec.model_dump_json())
        if spec.request.hook_config != self.spec.request.hook_config:
            self.hooks = open_session(self, hooks, self._aside.begin)
        self.spec, self.agent = spec, agent
        self.keys.keep()

    async def _run(self) -> None:
        await self.condensing.wait()
        with self.slots.turn() as self._turn:
            if await self._turn.wait():
                self._toolbox.expect_changes()
                self.turns.begin()
                await run(self)
                if self.hooks is not None:
                    # Not before they have let the message pass.
                    self.naming.begin_if_wanted()
            else:
                self.emit(*interruption(self.state.goal), status_update(ExecutionStatus.PAUSED))
        self._history.save_snapshot()
        self._history.save_summary()

    @asynccontextmanager
    async def making_room(self) -> AsyncIterator[None]:
        """Gives up the run slot inside the `async with` block, so that other conversations can run.
        Afterwards waits for a slot again.

        Does not wait if a pause was requested, because the run only has to log the pause.
        """
        assert self._turn is not None, "only a run has a place to give"
        self.slots.step_aside(self._turn)
        yield
        if not self.state.wants_pause:
            await self.slots.come_back(self._turn)

    def _owe_ending(self, cause: BaseException) -> None:
        self._aside.begin(write_ending(self, cause), "ending")
