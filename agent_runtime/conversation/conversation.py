"""A dialogue of a user with an agent. Its log is the truth; all else follows from it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson

from agent_runtime.agent.agent import Agent, secrets_of, system_prompt_event
from agent_runtime.context.condense import summarizer
from agent_runtime.conversation import title
from agent_runtime.conversation.approval.pending_actions import (
    ANSWERED_BY_MESSAGE,
    check_safeguards,
    rejections,
)
from agent_runtime.conversation.checkpoints.restore import complete
from agent_runtime.conversation.checkpoints.snapshots import Checkpoints
from agent_runtime.conversation.checkpoints.triggers import Turns
from agent_runtime.conversation.errors import (
    AlreadyRunningError,
    EventNotFoundError,
    NoCondenserError,
    NothingToCondenseError,
)
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.dangling_calls import give_up, lost
from agent_runtime.conversation.event_log.history import Subscriber
from agent_runtime.conversation.event_log.log import EventLog, Filter, LogMissingError
from agent_runtime.conversation.event_log.spec_seal import UNSEALED, SpecSeal
from agent_runtime.conversation.event_log.state import CHILDREN, LEAF
from agent_runtime.conversation.info import describe
from agent_runtime.conversation.keys import ConversationKeys
from agent_runtime.conversation.message import message_event
from agent_runtime.conversation.run.background_tasks import Aside
from agent_runtime.conversation.run.budget import budget_update
from agent_runtime.conversation.run.deferred_completion import write_ending
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.conversation.run.hook_dispatch import open_session, parse_hooks
from agent_runtime.conversation.run.loop import condense, run
from agent_runtime.conversation.run.slots import RunSlot, RunSlots
from agent_runtime.conversation.run.task import RunTask
from agent_runtime.conversation.sealed_keys import Sealing, keep, recall
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.conversation.working import SECRETS, Working
from agent_runtime.events.base import Event
from agent_runtime.events.condensation import CondensationRequest
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import (
    FULL_STATE,
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
    status_update,
)
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.wire import ConversationInfo, StartConversationRequest
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.environment import BELONGS_TO, OF_CONVERSATION
from agent_runtime.workspace.processes import end_marked

_ENDED_BY_MESSAGE = {
    ExecutionStatus.FINISHED,
    ExecutionStatus.STUCK,
    ExecutionStatus.WAITING_FOR_CONFIRMATION,
}
FROM_USER = Filter(kind="MessageEvent", source="user")


SavedLLM = Callable[[str], LLM | None]
"""The model of the saved profile of that name; None if there is none, or it is none that can be called."""


class ConversationEngine(Working):
    """Create or open it, `send` messages, `run` it. One live object per log; use it from one event loop."""

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
        """For `create` and `open`. Owns the log; the client and the slots belong to the caller."""
        super().__init__(directory, log, spec, agent, client, secrets or Secrets(), delegation)
        self.keys = ConversationKeys(self, self._toolbox, sealing)
        # Clients wait for this frame to know that the run is over: it comes last, when no run is going on.
        self._run_task = RunTask(spec.id, on_end=self.publish_full_state, on_lost=self._owe_ending)
        self.slots = slots or RunSlots()
        self._turn: RunSlot | None = None
        self._condensing: asyncio.Task[None] | None = None
        self._aside = Aside(spec.id)
        self.checkpoints = Checkpoints(log, directory, spec.working_dir)
        self.turns = Turns(self, self.checkpoints, self._aside.begin)
        self.hooks = open_session(self, parse_hooks(spec.request.hook_config), self._aside.begin)
        self.saved_llm: SavedLLM = _none_saved
        self.is_closed = False
        self.is_deleted = False

    @classmethod
    def create(
        cls,
        directory: Path,
        request: StartConversationRequest,
        client: LLMClient,
        *,
        conversation_id: UUID | None = None,
        slots: RunSlots | None = None,
        secrets: Secrets | None = None,
        delegation: Delegation = ALONE,
        sealing: Sealing | None = None,
        seal: SpecSeal = UNSEALED,
    ) -> "ConversationEngine":
        """A new conversation in its own directory. What a creation that was cut off has left is taken over.

        pydantic.ValidationError for an agent that is none, ToolNotFoundError for tools that do not exist,
        UnsupportedKindError for a policy or an analyzer, InvalidSecretError, FileExistsError if there is a
        conversation already. secrets: where to keep those of the request. sealing: how keys are kept
        on disk; without it they are not. seal: of its specification.
        """
        check_safeguards(request)
        agent = Agent.model_validate(request.agent)
        parse_hooks(request.hook_config)
        secrets = secrets or Secrets()
        secrets.update({**secrets_of(agent), **request.secrets})
        named = request.model_dump(include={"title", "tags"})
        request = request.model_copy(update=secrets.masker.value(named))
        spec = Spec.of(conversation_id or request.conversation_id or uuid4(), request, agent)
        Toolbox(spec, agent, directory, secrets, delegation)
        spec.working_dir.mkdir(parents=True, exist_ok=True)
        log = EventLog(directory, create=True, seal=seal)
        if log.get_meta("spec") is not None:
            log.close()
            raise FileExistsError(str(directory))
        log.set_meta(SECRETS, orjson.dumps(secrets.keepable()).decode())
        keep(log, sealing, agent, secrets)
        log.set_spec(spec.model_dump_json())
        return cls(directory, log, spec, agent, client, slots, secrets, delegation, sealing)

    @classmethod
    def open(
        cls,
        directory: Path,
        client: LLMClient,
        *,
        agent: Agent | None = None,
        slots: RunSlots | None = None,
        secrets: Secrets | None = None,
        delegation: Delegation = ALONE,
        sealing: Sealing | None = None,
        seal: SpecSeal = UNSEALED,
    ) -> "ConversationEngine":
        """The conversation of that directory, as it was. Keys come with `agent`, or are unsealed.

        LogMissingError when there is none, LogInUseError when another process has it, SpecChangedError when
        its specification is not the one that was written. seal: shows that.
        """
        log = EventLog(directory, seal=seal)
        try:
            spec = _read_spec(log, directory)
            known = agent or Agent.model_validate(spec.agent)
            kept, secrets = recall(log, sealing), secrets or Secrets()
            secrets.restore(kept.secrets if kept else {})
            opened = cls(directory, log, spec, known, client, slots, secrets, delegation, sealing)
            if agent is None and opened.state.agent is not None:
                opened.agent = Agent.model_validate(opened.state.agent)
            if agent is None and kept is not None:
                opened.keys.fill(Agent.model_validate(kept.agent))
            if agent is not None or (kept is not None and sealing is not None and sealing.is_renewing):
                opened.keys.keep()
        except BaseException:
            # Otherwise no later attempt could succeed: the log would stay locked.
            log.close()
            raise
        if any(one.restoring is not None for one in opened.checkpoints.made):
            opened.beside(complete(opened, opened.checkpoints), "complete rewind")
        return opened

    @property
    def is_running(self) -> bool:
        return self._run_task.is_running

    @property
    def is_busy(self) -> bool:
        """Something goes on in it, or would be lost if it were put away: a run, a server in a shell."""
        is_working = self.is_running or self._condensing is not None or self._aside.is_busy
        return is_working or any(tool.holds_work() for tool in self.tools.values())

    @property
    def status(self) -> ExecutionStatus:
        """`running` if and only if a run is going on. A log that says so without one was cut off."""
        if self.is_running:
            return ExecutionStatus.RUNNING
        stored = self.state.status
        return ExecutionStatus.IDLE if stored is ExecutionStatus.RUNNING else stored

    @property
    def is_waiting(self) -> bool:
        """Actions wait to be confirmed."""
        return self.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION and not self.is_running

    # Talking to it

    def send(self, message: Message, *, message_id: str | None = None) -> bool:
        """Adds a message; a run that is going on will answer it. False if a message of that id is known.

        Actions that wait to be confirmed are thereby rejected: the user wants something else.
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
        )
        events: list[Event] = [said]
        if not self.state.has_system_prompt:
            opening = system_prompt_event(
                self.agent,
                self.tools,
                self.spec.project,
                working_dir=str(self.spec.working_dir),
                secrets=self.secrets.descriptions,
            )
            events.insert(0, opening)
        if self.is_waiting:
            events = [*rejections(self.state.pending, ANSWERED_BY_MESSAGE), *events]
        if not self.is_running and self.state.status in _ENDED_BY_MESSAGE:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
        if is_first and self.hooks is None:
            self._begin_title()
        return True

    def start(self) -> None:
        """Begins a run in the background, or goes on with one that was cut off.

        AlreadyRunningError when one is going on.
        """
        if self.state.status is ExecutionStatus.RUNNING:
            self.recover()
        self._run_task.start(self._run)

    async def wait(self) -> None:
        """Returns when no run is going on."""
        await self._run_task.wait()

    async def run(self) -> None:
        """Begins a run and waits for its end. Cancelling the wait leaves the run alone."""
        self.start()
        await self.wait()

    def pause(self) -> None:
        """Stops a run before its next step: a running command ends first. What waits goes on waiting."""
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
        """Stops a run at once: the model's reply is dropped, a running tool cancelled, each call answered."""
        if await self._run_task.interrupt() and not self.is_closed:
            self.beside(self.turns.end(), "checkpoint")
            self.emit(
                InterruptEvent(),
                *self._give_up("by the user"),
                *interruption(self.state.goal),
                status_update(ExecutionStatus.PAUSED),
            )
            self.publish_full_state()

    async def condense(self) -> None:
        """Has older events summed up now, or before the next reply if a run is going on.

        NoCondenserError, NothingToCondenseError. A failure of the condenser's model is in the log.
        """
        if summarizer(self.agent.condenser) is None:
            raise NoCondenserError
        if self._condensing is None:
            if self.plan_condensation(is_requested=True) is None:
                raise NothingToCondenseError
            self.emit(CondensationRequest())
            if self.is_running:
                return
            self._condensing = self._aside.begin(self._condense_alone(), "condense")
        await asyncio.wait([self._condensing])

    def navigate(self, event_id: str | None) -> None:
        """Goes back to an event, to go on from there, or to the very beginning. The log keeps the rest.

        EventNotFoundError; AlreadyRunningError while a run or a condensation is going on.
        """
        self.require_rest()
        if event_id is not None and not self._is_on_some_branch(event_id):
            raise EventNotFoundError.of(event_id)
        self.emit(ConversationStateUpdateEvent(key=LEAF, value=event_id))
        # The event may have been a call, and its result is on the branch that was left.
        self.give_up("by going back to this point")
        if self.state.status is not ExecutionStatus.IDLE:
            self.emit(status_update(ExecutionStatus.IDLE))
        self.publish_full_state()

    def require_rest(self) -> None:
        """AlreadyRunningError while a run or a condensation is going on."""
        if self.is_running or self._condensing is not None:
            raise AlreadyRunningError

    def beside(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Begins something that is done beside the runs, and ends with the conversation at the latest."""
        return self._aside.begin(work, name)

    def update(self, *, title: str | None = None, tags: dict[str, str] | None = None) -> None:
        """Sets what is given. Tags replace all earlier ones."""
        given = {"title": title, "tags": tags}
        changes = {key: value for key, value in given.items() if value is not None}
        self.emit(*(ConversationStateUpdateEvent(key=key, value=value) for key, value in changes.items()))
        self.publish_full_state()

    def set_budget(self, dollars: float | None) -> None:
        """What it may cost in all, from now on; None: any amount."""
        self.emit(budget_update(self, dollars))
        self.publish_full_state()

    async def generate_title(self) -> None:
        """Names it by its first message: the model does, or else it is the first words."""
        first, _ = self.log.search(FROM_USER, from_seq=None, descending=False, limit=1)
        if not first:
            return
        task = MessageEvent.model_validate_json(first[0].body)
        found = await title.generate(task, self._title_llm(), self.llm_client, self.secrets.masker.text)
        if self.state.title is not None:
            return
        if found is not None:
            self.emit(*found.events(self.state.stats))
        elif (words := title.first_words(self.secrets.masker.text(task.llm_message.text))) is not None:
            self.emit(ConversationStateUpdateEvent(key="title", value=words))
        self.publish_full_state()

    def _title_llm(self) -> LLM:
        name = self.spec.request.title_llm_profile
        return (self.saved_llm(name) if name else None) or self.agent.llm

    def expect_other_tools(self) -> None:
        """Has the MCP servers asked for their tools again before the model's next reply."""
        self._toolbox.expect_changes()

    def note_children(self, children: Sequence[UUID]) -> None:
        """Which conversations it has started that are still there."""
        value = [str(child) for child in children]
        self.emit(ConversationStateUpdateEvent(key=CHILDREN, value=value))
        self.publish_full_state()

    def keep_secrets(self) -> None:
        """Writes down which secrets there are; their values only where they can be sealed."""
        self.log.set_meta(SECRETS, orjson.dumps(self.secrets.keepable()).decode())
        self.keys.keep()
        self.publish_full_state()

    def give_up(self, by: str) -> None:
        """Answers the calls whose results will never come. by: what ended them, as in "by the user"."""
        self.emit(*self._give_up(by))

    def settle(self, by: str) -> None:
        """Of a log that came from elsewhere: nothing goes on in it, whatever it says."""
        self.give_up(by)
        if self.status is not self.state.status:
            self.emit(status_update(self.status))

    def recover(self) -> None:
        """After a crash: answers the calls whose results are lost, so that a run can go on."""
        if not self.is_running and lost(self.state.pending, self.agent, self.tools):
            self.emit(*self._give_up("by a restart"))

    async def close(self) -> None:
        """Stops working and frees everything. The log still says what was going on, so that it can go on.

        Safe to call twice.
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
        """Ends its session: shells and the like. The next run begins a new one."""
        if self.hooks is not None:
            await self.hooks.end()
        await self._toolbox.close()

    def release(self) -> None:
        """Lets go of the log, so that it can be opened again. Only while nothing is going on."""
        self.live.close()
        self._history.save_snapshot()
        self._history.save_summary()
        self.log.close()
        self.is_closed = True
        self._history.publish(frames.END)

    async def delete(self) -> None:
        """Closes it, ends what its agent has left running, and removes its directory. The workspace stays."""
        self.is_deleted = True
        await self.close()
        own = {OF_CONVERSATION: str(self.id), BELONGS_TO: os.environ.get(BELONGS_TO)}
        await asyncio.to_thread(end_marked, own)
        await asyncio.to_thread(private_tree.remove, self.directory)

    # Watching it

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tells `subscriber` of everything from now on. The result ends that."""
        return self._history.subscribe(subscriber)

    def info(self) -> ConversationInfo:
        info = describe(self.spec, self.state, self.status, self.directory)
        return info.model_copy(update={"secret_registry": {"secret_sources": self.secrets.keepable()}})

    def full_state(self) -> ConversationStateUpdateEvent:
        """The whole state as one event. It is published, never logged."""
        value = self.info().model_dump(mode="json", exclude_none=True)
        return ConversationStateUpdateEvent(key=FULL_STATE, value=value)

    def publish_full_state(self) -> None:
        self._history.publish(frames.transient(self.full_state()))

    def adopt(self, spec: Spec, agent: Agent) -> None:
        """Goes on with more than it began with: skills, MCP servers, hooks.

        HookConfigError, pydantic.ValidationError; then everything is as before.
        """
        hooks = parse_hooks(spec.request.hook_config)
        self._toolbox.extend(spec, agent)
        self.log.set_spec(spec.model_dump_json())
        if spec.request.hook_config != self.spec.request.hook_config:
            self.hooks = open_session(self, hooks, self._aside.begin)
        self.spec, self.agent = spec, agent
        self.keys.keep()

    def _is_on_some_branch(self, event_id: str) -> bool:
        record = self.log.get(event_id)
        return record is not None and record.kind != "ConversationStateUpdateEvent"

    async def _condense_alone(self) -> None:
        try:
            await condense(self)
        finally:
            self._condensing = None
        self.publish_full_state()

    async def _run(self) -> None:
        if self._condensing is not None:
            await asyncio.wait([self._condensing])
        with self.slots.turn() as self._turn:
            if await self._turn.wait():
                self._toolbox.expect_changes()
                self.turns.begin()
                await run(self)
                if self.hooks is not None:
                    # Not before they have let the message pass.
                    self._begin_title()
            else:
                self.emit(*interruption(self.state.goal), status_update(ExecutionStatus.PAUSED))
        self._history.save_snapshot()
        self._history.save_summary()

    @asynccontextmanager
    async def making_room(self) -> AsyncIterator[None]:
        """Other conversations may run meanwhile; afterwards it waits for its turn again.

        Not when it is to pause: all it still has to do is to say so.
        """
        assert self._turn is not None, "only a run has a place to give"
        self.slots.step_aside(self._turn)
        yield
        if not self.state.wants_pause:
            await self.slots.come_back(self._turn)

    def _owe_ending(self, cause: BaseException) -> None:
        self._aside.begin(write_ending(self, cause), "ending")

    def _begin_title(self) -> None:
        if self.spec.wants_title and self.state.title is None and not self.state.blocked_messages:
            self._aside.begin(self.generate_title(), "title")

    def _give_up(self, by: str) -> list[AgentErrorEvent]:
        return give_up(self.state.pending, self.agent, self.tools, by=by)


def _none_saved(_: str) -> None:
    return None


def _read_spec(log: EventLog, directory: Path) -> Spec:
    stored = log.spec()
    if stored is None:
        raise LogMissingError(str(directory))
    return Spec.model_validate_json(stored)
