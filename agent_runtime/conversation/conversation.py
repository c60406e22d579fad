"""The engine of a conversation between a user and an agent. The whole state of a conversation is computed
from its event log.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from agent_runtime.agent.agent import Agent, system_prompt_event
from agent_runtime.conversation.approval.pending_actions import ANSWERED_BY_MESSAGE, rejections
from agent_runtime.conversation.encrypted_keys import KeyEncryption
from agent_runtime.conversation.errors import AlreadyRunningError
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.history import Subscriber
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.keys import ConversationKeys
from agent_runtime.conversation.message import message_event
from agent_runtime.conversation.naming import Naming
from agent_runtime.conversation.run.condensing import Condensing
from agent_runtime.conversation.run.context import SECRETS, RunContext
from agent_runtime.conversation.run.deferred_completion import log_end
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.hook_dispatch import open_session, parse_hooks
from agent_runtime.conversation.run.loop import run
from agent_runtime.conversation.run.recovery import recover, results_of_dangling_calls
from agent_runtime.conversation.run.slots import RunSlots
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.base import Event
from agent_runtime.events.message import Message
from agent_runtime.events.state import (
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
    status_update,
)
from agent_runtime.llm.complete import LLMClient
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.tools.tool import AnyTool
from agent_runtime.wire import ConversationInfo
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.environment import BELONGS_TO, OF_CONVERSATION
from agent_runtime.workspace.processes import end_marked

_ENDED_BY_MESSAGE = {
    ExecutionStatus.FINISHED,
    ExecutionStatus.STUCK,
    ExecutionStatus.WAITING_FOR_CONFIRMATION,
}


class ConversationEngine:
    """The object that runs a conversation between a user and an agent. The method `send` adds a user's
    message, and `run` lets the agent work. There is one engine for each event log. All methods must be called
    from the same event loop.

    The module `creation` creates conversations, and loads conversations from disk. Functions that need only
    the engine's public members are in other modules, such as `changes`, `branches` and `run/recovery`. The
    attribute `run_context` holds the objects that a run (the work of the agent until it stops) uses.
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
        key_encryption: KeyEncryption | None = None,
    ) -> None:
        """Builds the engine of a conversation from its event log. Call `create_conversation` or
        `open_conversation` instead of this constructor. The engine closes the log. The caller closes
        `client`.

        `directory`: contains the files of the conversation. `spec`: the data with which the conversation was
        created. `client`: sends requests to models. `slots`: limits how many conversations run at the same
        time; None means no limit. `secrets`: the secrets that the agent's commands may use. `delegation`: the
        functions that start sub-agents and child conversations. `key_encryption`: encrypts API keys on disk;
        if it is None, keys are not stored.
        """
        self.id = spec.id
        self.directory = directory
        self.log = log
        self.secrets = secrets or Secrets()
        self.run_context = RunContext(
            directory, log, spec, agent, client, self.secrets, delegation, slots or RunSlots()
        )
        self.checkpoints = self.run_context.checkpoints
        self.background = self.run_context.background
        self.keys = ConversationKeys(self.run_context, key_encryption)
        self.condensing = Condensing(self.run_context)
        self.naming = Naming(self.run_context)
        self.run_context.hooks = open_session(self.run_context, parse_hooks(spec.request.hook_config))
        self.is_closed = False
        self.is_deleted = False

    @property
    def spec(self) -> Spec:
        return self.run_context.spec

    @property
    def agent(self) -> Agent:
        return self.run_context.agent

    @property
    def state(self) -> State:
        return self.run_context.state

    @property
    def status(self) -> ExecutionStatus:
        """The current status of the conversation. The status is `running` only while a run (work of the
        agent) is going on.
        """
        return self.run_context.status

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        return self.run_context.tools

    @property
    def is_running(self) -> bool:
        return self.run_context.is_running

    @property
    def is_busy(self) -> bool:
        """Whether work of the conversation is going on, so that it must not be closed now. Such work is a run
        (work of the agent), a background task, or a process of a tool, such as a server that the agent has
        started in a shell.
        """
        is_working = self.is_running or self.condensing.is_under_way or self.background.is_busy
        return is_working or any(tool.holds_work() for tool in self.tools.values())

    @property
    def is_waiting(self) -> bool:
        """Whether actions of the agent wait now for the user's confirmation."""
        return self.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION and not self.is_running

    # Talking to it

    def send(self, message: Message, *, message_id: str | None = None, sender: str | None = None) -> bool:
        """Adds a message of a user to the log and returns True. If the log already has a message with the id
        `message_id`, adds nothing and returns False.

        If the agent is working, it reads the message before its next request to the model. A new message also
        rejects the agent's actions that wait for confirmation. `sender`: the name of the person who wrote the
        message; None means the owner of the conversation.
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
                git=self.spec.git,
            )
            events.insert(0, opening)
        if self.is_waiting:
            events = [*rejections(self.state.pending, ANSWERED_BY_MESSAGE), *events]
        if not self.is_running and self.state.status in _ENDED_BY_MESSAGE:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
        if is_first and self.run_context.hooks is None:
            self.naming.begin_if_wanted()
        return True

    def start(self) -> None:
        """Starts a run (the work of the agent until it stops) in the background. If a crash interrupted the
        last run, the new run continues the work of that run.

        Raises AlreadyRunningError if a run is going on.
        """
        if self.state.status is ExecutionStatus.RUNNING:
            recover(self.run_context)
        self.run_context.task.start(self._run, on_end=self.publish_full_state, on_lost=self._log_end_later)

    async def wait(self) -> None:
        """Waits until no run (work of the agent) is going on."""
        await self.run_context.task.wait()

    async def run(self) -> None:
        """Starts a run (the work of the agent until it stops) and waits for its end. Cancelling the caller's
        wait does not stop the run.
        """
        self.start()
        await self.wait()

    def pause(self) -> None:
        """Asks the current run (work of the agent) to stop before its next request to the model. The run
        completes tool calls that have begun. Actions that wait for confirmation continue to wait.
        """
        if self.is_waiting:
            self.emit(PauseEvent())
            return
        if not self.is_running:
            self.emit(PauseEvent(), *interruption(self.state.goal), status_update(ExecutionStatus.PAUSED))
            self.publish_full_state()
            return
        self.emit(PauseEvent())
        if self.run_context.slot is not None:
            self.run_context.slot.give_up()

    async def interrupt(self) -> None:
        """Stops the current run (work of the agent) without waiting for its current step. Drops the model's
        incomplete reply, cancels running tools, and logs an error as the result of each unanswered tool call.
        """
        if await self.run_context.task.interrupt() and not self.is_closed:
            self.background.begin(self.run_context.checkpoint_triggers.end(), "checkpoint")
            self.emit(
                InterruptEvent(),
                *results_of_dangling_calls(self.run_context, by="by the user"),
                *interruption(self.state.goal),
                status_update(ExecutionStatus.PAUSED),
            )
            self.publish_full_state()

    def require_rest(self) -> None:
        """Raises AlreadyRunningError if a run (work of the agent) or a condensation (the making of a summary
        that replaces older events) is going on. Does nothing otherwise.
        """
        if self.is_running or self.condensing.is_under_way:
            raise AlreadyRunningError

    def keep_secrets(self) -> None:
        """Stores the conversation's secrets on disk, for use after a restart of the server. Then publishes
        the conversation's state to clients.

        Names and descriptions are stored without encryption, and so are URLs from which secrets are
        requested. A URL is left out if it contains a user name or a query, or if its requests need HTTP
        headers, because these may be confidential. If encryption is available, all data of the secrets are
        also stored encrypted. Without encryption, the values are not stored.
        """
        self.log.set_meta(SECRETS, orjson.dumps(self.secrets.keepable()).decode())
        self.keys.keep()
        self.publish_full_state()

    async def close(self) -> None:
        """Stops all tasks and frees all resources of the conversation. The last status stays in the log, so
        that the agent can continue interrupted work later. Calling this method twice is safe.
        """
        if self.is_closed:
            return
        was_running = self.is_running
        await self.run_context.task.cancel()
        await self.rest()
        if was_running and not self.is_deleted:
            # Without this checkpoint, the agent's changes would look like changes by other people.
            await self.run_context.checkpoint_triggers.end()
        await self.background.close()
        self.release()

    async def rest(self) -> None:
        """Frees resources of a conversation that is not in use: runs the SessionEnd hooks, and closes shells
        and other tools. The tools are opened again when the agent works again.
        """
        if self.run_context.hooks is not None:
            await self.run_context.hooks.end()
        await self.run_context.toolbox.close()

    def release(self) -> None:
        """Closes the log and ends all event streams of the conversation. After that, `open_conversation` can
        load the conversation from its directory again. Call this method only while no run (work of the agent)
        or other task is going on.
        """
        self.run_context.live.close()
        self.run_context.history.save_snapshot()
        self.run_context.history.save_summary()
        self.log.close()
        self.is_closed = True
        self.run_context.history.publish(frames.END)

    async def delete(self) -> None:
        """Closes the conversation, ends the running processes of its agent, and removes the directory that
        contains the conversation's log. The workspace with the user's files is not removed.
        """
        self.is_deleted = True
        await self.close()
        own = {OF_CONVERSATION: str(self.id), BELONGS_TO: os.environ.get(BELONGS_TO)}
        await asyncio.to_thread(end_marked, own)
        await asyncio.to_thread(private_tree.remove, self.directory)

    # Watching it

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` with every frame (an event or another message for clients) that is published
        from now on. Returns a function that ends the subscription.
        """
        return self.run_context.history.subscribe(subscriber)

    def info(self) -> ConversationInfo:
        return self.run_context.info()

    def publish_full_state(self) -> None:
        self.run_context.publish_full_state()

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events to the log in one transaction, updates the state and publishes the events.

        `seen_seq`: for events that the model wrote, the position of the last event in the model's prompt.
        Messages after this position count as not seen by the model. None for events that the model did not
        write.
        """
        self.run_context.emit(*events, seen_seq=seen_seq)

    async def _run(self) -> None:
        await self.condensing.wait()
        with self.run_context.slots.queued() as self.run_context.slot:
            if await self.run_context.slot.wait():
                self.run_context.toolbox.expect_changes()
                self.run_context.checkpoint_triggers.begin()
                await run(self.run_context)
                if self.run_context.hooks is not None:
                    # Hooks run first, because a title must not be made from a message that a hook blocks.
                    self.naming.begin_if_wanted()
            else:
                self.emit(*interruption(self.state.goal), status_update(ExecutionStatus.PAUSED))
        self.run_context.history.save_snapshot()
        self.run_context.history.save_summary()

    def _log_end_later(self, cause: BaseException) -> None:
        self.background.begin(log_end(self.run_context, cause), "end of a run")
