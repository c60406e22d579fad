"""A dialogue of a user with an agent. Its log is the truth; all else follows from it."""

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from agent_runtime.agent.agent import Agent, system_prompt_event
from agent_runtime.agent.stuck import Loop, look
from agent_runtime.context.condense import Plan, plan, summarizer
from agent_runtime.conversation import frames, title
from agent_runtime.conversation.aside import Aside
from agent_runtime.conversation.errors import (
    AlreadyRunningError,
    EventNotFoundError,
    NoCondenserError,
    NothingToCondenseError,
)
from agent_runtime.conversation.history import History, Subscriber
from agent_runtime.conversation.info import describe
from agent_runtime.conversation.item_stream import ItemStream
from agent_runtime.conversation.log import EventLog, Filter, LogMissingError
from agent_runtime.conversation.message import message_event
from agent_runtime.conversation.run import condense, run
from agent_runtime.conversation.run_task import RunTask
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.state import LEAF, State
from agent_runtime.conversation.toolbox import close_tools, make_tools
from agent_runtime.conversation.unanswered import give_up, lost
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
from agent_runtime.tools.tool import AnyTool, model_schema
from agent_runtime.wire import ConversationInfo, StartConversationRequest, StuckDetectionThresholds

FROM_USER = Filter(kind="MessageEvent", source="user")


class Conversation:
    """Create or open it, `send` messages, `run` it. One live object per log; use it from one event loop."""

    def __init__(self, directory: Path, log: EventLog, spec: Spec, agent: Agent, client: LLMClient) -> None:
        """For `create` and `open`. Owns the log; the client belongs to the caller."""
        self.directory = directory
        self.log = log
        self.spec = spec
        self.agent = agent
        self.llm_client = client
        self.tools: Mapping[str, AnyTool] = make_tools(spec, agent, directory)
        self.schemas: Sequence[dict[str, Any]] = [model_schema(tool) for tool in self.tools.values()]
        self._history = History(log, agent.llm.usage_id)
        # Clients wait for this frame to know that the run is over: it comes last, when no run is going on.
        self._run_task = RunTask(spec.id, on_end=self.publish_full_state)
        self._condensing: asyncio.Task[None] | None = None
        self._aside = Aside(spec.id)
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
    ) -> "Conversation":
        """A new conversation in its own directory. What a creation that was cut off has left is taken over.

        pydantic.ValidationError for an agent that is none, ToolNotFoundError for tools that do not exist,
        FileExistsError if there is a conversation already.
        """
        agent = Agent.model_validate(request.agent)
        spec = Spec.of(conversation_id or request.conversation_id or uuid4(), request, agent)
        make_tools(spec, agent, directory)
        spec.working_dir.mkdir(parents=True, exist_ok=True)
        log = EventLog(directory, create=True)
        if log.get_meta("spec") is not None:
            log.close()
            raise FileExistsError(str(directory))
        log.set_meta("spec", spec.model_dump_json())
        return cls(directory, log, spec, agent, client)

    @classmethod
    def open(cls, directory: Path, client: LLMClient, *, agent: Agent | None = None) -> "Conversation":
        """The conversation of that directory, as it was. Keys are not kept: they come with `agent`.

        LogMissingError when there is none, LogInUseError when another process has it.
        """
        log = EventLog(directory)
        try:
            spec = _read_spec(log, directory)
            return cls(directory, log, spec, agent or Agent.model_validate(spec.agent), client)
        except BaseException:
            # Or else nobody could try again: the log would stay locked.
            log.close()
            raise

    @property
    def id(self) -> UUID:
        return self.spec.id

    @property
    def state(self) -> State:
        return self._history.state

    @property
    def max_iterations(self) -> int:
        return self.spec.request.max_iterations

    @property
    def is_running(self) -> bool:
        return self._run_task.is_running

    @property
    def status(self) -> ExecutionStatus:
        """`running` if and only if a run is going on. A log that says so without one was cut off."""
        if self.is_running:
            return ExecutionStatus.RUNNING
        stored = self.state.status
        return ExecutionStatus.IDLE if stored is ExecutionStatus.RUNNING else stored

    # Talking to it

    def send(self, message: Message, *, message_id: str | None = None) -> bool:
        """Adds a message; a run that is going on will answer it. False if a message of that id is known."""
        if message_id is not None and self.log.seq_of(message_id) is not None:
            return False
        is_first = self.state.last_user_message_id is None
        said = message_event(
            message,
            message_id,
            self.spec.project,
            self.agent.agent_context,
            known_skills=self.state.activated_skills,
        )
        events: list[Event] = [said]
        if not self.state.has_system_prompt:
            opening = system_prompt_event(
                self.agent, self.tools, self.spec.project, working_dir=str(self.spec.working_dir)
            )
            events.insert(0, opening)
        if not self.is_running and self.state.status in {ExecutionStatus.FINISHED, ExecutionStatus.STUCK}:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
        if is_first and self.spec.wants_title and self.state.title is None:
            self._aside.begin(self.generate_title(), "title")
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
        """Stops a run before its next step: a running command ends first."""
        if self.is_running:
            self.emit(PauseEvent())
        else:
            self.emit(PauseEvent(), status_update(ExecutionStatus.PAUSED))
            self.publish_full_state()

    async def interrupt(self) -> None:
        """Stops a run at once: the model's reply is dropped, a running tool cancelled, each call answered."""
        if await self._run_task.interrupt() and not self.is_closed:
            self.emit(InterruptEvent(), *self._give_up("by the user"), status_update(ExecutionStatus.PAUSED))
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
        if self.is_running or self._condensing is not None:
            raise AlreadyRunningError
        if event_id is not None and not self._is_on_some_branch(event_id):
            raise EventNotFoundError(event_id)
        self.emit(ConversationStateUpdateEvent(key=LEAF, value=event_id))
        # The event may have been a call: what came of it lies on the branch that was left.
        self.give_up("by going back to this point")
        if self.state.status is not ExecutionStatus.IDLE:
            self.emit(status_update(ExecutionStatus.IDLE))
        self.publish_full_state()

    def update(self, *, title: str | None = None, tags: dict[str, str] | None = None) -> None:
        """Sets what is given. Tags replace all earlier ones."""
        given = {"title": title, "tags": tags}
        changes = {key: value for key, value in given.items() if value is not None}
        self.emit(*(ConversationStateUpdateEvent(key=key, value=value) for key, value in changes.items()))
        self.publish_full_state()

    async def generate_title(self) -> None:
        """Has the agent's model name it by its first message. If that fails it stays unnamed."""
        first, _ = self.log.search(FROM_USER, from_seq=None, descending=False, limit=1)
        if not first:
            return
        task = MessageEvent.model_validate_json(first[0].body)
        found = await title.generate(task, self.agent.llm, self.llm_client)
        if found is not None and self.state.title is None:
            self.emit(*found.events(self.state.stats))
            self.publish_full_state()

    def give_up(self, by: str) -> None:
        """Answers the calls whose results will never come. by: what ended them, as in "by the user"."""
        self.emit(*self._give_up(by))

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
        await self._run_task.cancel()
        await self._aside.close()
        self._history.save_snapshot()
        await close_tools(self.tools.values())
        self.log.close()
        self.is_closed = True
        self._history.publish(frames.END)

    async def delete(self) -> None:
        """Closes it and removes its directory. The workspace stays."""
        self.is_deleted = True
        await self.close()
        await asyncio.to_thread(shutil.rmtree, self.directory)

    # Watching it

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tells `subscriber` of everything from now on. The result ends that."""
        return self._history.subscribe(subscriber)

    def info(self) -> ConversationInfo:
        return describe(self.spec, self.state, self.status, self.directory)

    def full_state(self) -> ConversationStateUpdateEvent:
        """The whole state as one event. It is published, never logged."""
        value = self.info().model_dump(mode="json", exclude_none=True)
        return ConversationStateUpdateEvent(key=FULL_STATE, value=value)

    def publish_full_state(self) -> None:
        self._history.publish(frames.transient(self.full_state()))

    # Used by the run

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events in one transaction, then folds and publishes them.

        A second result for a call is dropped. seen_seq: what the model had seen when it said this.
        """
        self._history.emit(*events, seen_seq=seen_seq)

    def messages(self) -> Sequence[bytes]:
        """What the model sees. Complete whenever no call is unanswered."""
        return self._history.view.messages()

    def plan_condensation(self, *, is_requested: bool = False) -> Plan | None:
        """What the condenser should forget now, if anything. is_requested: whether or not it is time."""
        condenser = summarizer(self.agent.condenser)
        if condenser is None:
            return None
        return plan(
            self._history.view.passages,
            condenser,
            context_tokens=self._history.context_tokens,
            window_tokens=self.agent.llm.max_input_tokens or self._history.window_tokens,
            is_requested=is_requested or self.state.wants_condensation,
        )

    def find_loop(self) -> Loop | None:
        """Whether the agent goes round in circles."""
        request = self.spec.request
        if not request.stuck_detection:
            return None
        return look(self.state.trail, request.stuck_detection_thresholds or StuckDetectionThresholds())

    def stream(self, item_id: str) -> ItemStream:
        return ItemStream(item_id, self._history.publish)

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
        await run(self)
        self._history.save_snapshot()

    def _give_up(self, by: str) -> list[AgentErrorEvent]:
        return give_up(self.state.pending, self.agent, self.tools, by=by)


def _read_spec(log: EventLog, directory: Path) -> Spec:
    stored = log.get_meta("spec")
    if stored is None:
        raise LogMissingError(str(directory))
    return Spec.model_validate_json(stored)
