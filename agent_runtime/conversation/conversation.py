"""A dialogue of a user with an agent. Its log is the truth; `emit` is the only writer."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from agent_runtime.agent.agent import Agent, system_prompt_event
from agent_runtime.agent.execute import interrupted, ready
from agent_runtime.agent.stuck import Loop, look
from agent_runtime.context.condense import Plan, plan, summarizer
from agent_runtime.context.skills import NO_CONTEXT, ProjectContext, render_knowledge, triggered
from agent_runtime.conversation import frames, title
from agent_runtime.conversation.fold import fold_branch, fold_log, is_navigation
from agent_runtime.conversation.frames import Frame
from agent_runtime.conversation.info import describe
from agent_runtime.conversation.item_stream import ItemStream
from agent_runtime.conversation.log import EventLog, Filter, LogMissingError, Record
from agent_runtime.conversation.run import condense, run
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.state import LEAF, State
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event, encode
from agent_runtime.events.condensation import CondensationRequest
from agent_runtime.events.content import TextContent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import (
    FULL_STATE,
    ConversationStateUpdateEvent,
    ExecutionStatus,
    InterruptEvent,
    PauseEvent,
    status_update,
)
from agent_runtime.events.union import AnyEvent
from agent_runtime.llm.complete import LLMClient
from agent_runtime.tools.invoke_skill import InvokeSkillTool
from agent_runtime.tools.registry import create_tools
from agent_runtime.tools.tool import AnyTool, ToolContext, model_schema
from agent_runtime.wire import ConversationInfo, StartConversationRequest, StuckDetectionThresholds

logger = logging.getLogger(__name__)

INTERRUPT_GRACE_SECONDS = 10
FROM_USER = Filter(kind="MessageEvent", source="user")
SNAPSHOT_EVENTS = 200
"""After how many further events a snapshot is worth writing: so many are read in a few milliseconds."""
SNAPSHOT_EVENTS_WHILE_RUNNING = 2_000
"""Seldom enough to cost nothing, often enough for a crash not to make the next start slow."""

Subscriber = Callable[[Frame], None]
"""Told of everything published, in order. Must return at once and must not raise."""


class AlreadyRunningError(Exception):
    """A run was asked for while one is going on."""


class NoCondenserError(Exception):
    """A condensation was asked for, and the agent has nothing that could make it."""


class NothingToCondenseError(Exception):
    """A condensation was asked for, and there is too little to forget."""


class EventNotFoundError(Exception):
    """An event was named that is not in this log, or that one cannot go back to."""


class Conversation:
    """Create or open it, `send` messages, `run` it. One live object per log; use it from one event loop."""

    def __init__(self, directory: Path, log: EventLog, spec: Spec, agent: Agent, client: LLMClient) -> None:
        """For `create` and `open`. Owns the log; the client belongs to the caller."""
        self.directory = directory
        self.log = log
        self.spec = spec
        self.agent = agent
        self.llm_client = client
        context = ToolContext(working_dir=spec.working_dir, state_dir=directory)
        self.tools: Mapping[str, AnyTool] = {
            **create_tools(agent.tools, context, spec.request.tool_module_qualnames),
            **_skill_tools(spec.project),
        }
        self.schemas: Sequence[dict[str, Any]] = [model_schema(tool) for tool in self.tools.values()]
        self._fold = fold_log(log, agent.llm.usage_id, snapshot=log.get_meta("snapshot"))
        self._snapshot_seq = self.state.last_seq
        self._subscribers: list[Subscriber] = []
        self._run_task: asyncio.Task[None] | None = None
        self._condensing: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[None]] = set()
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
        context = ToolContext(Path(request.workspace.working_dir), directory)
        create_tools(agent.tools, context, request.tool_module_qualnames)
        spec = Spec.of(conversation_id or request.conversation_id or uuid4(), request, agent)
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
        return self._fold.state

    @property
    def max_iterations(self) -> int:
        return self.spec.request.max_iterations

    @property
    def is_running(self) -> bool:
        return self._run_task is not None and not self._run_task.done()

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
        events: list[Event] = [self._message_event(message, message_id)]
        if not self.state.has_system_prompt:
            opening = system_prompt_event(
                self.agent, self.tools, self.spec.project, working_dir=str(self.spec.working_dir)
            )
            events.insert(0, opening)
        if not self.is_running and self.state.status in {ExecutionStatus.FINISHED, ExecutionStatus.STUCK}:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
        if is_first and self.spec.wants_title and self.state.title is None:
            self._begin_aside(self.generate_title(), "title")
        return True

    def start(self) -> None:
        """Begins a run in the background. AlreadyRunningError when one is going on."""
        if self.is_running:
            raise AlreadyRunningError
        self._run_task = asyncio.create_task(self._run(), name=f"run {self.id}")

    async def wait(self) -> None:
        """Returns when no run is going on."""
        if self._run_task is not None:
            await asyncio.wait([self._run_task])

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
        task = self._run_task
        if task is None or task.done():
            return
        await self._cancel_run()
        # A run that came to its own end in this moment, or that somebody else stopped, is over already.
        if self._run_task is task:
            self._run_task = task if not task.done() else None
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
            self._condensing = self._begin_aside(self._condense_alone(), "condense")
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
        if not self.is_running and self._lost_calls():
            self.emit(*self._give_up("by a restart"))

    async def close(self) -> None:
        """Stops working and frees everything. The log still says what was going on, so that it can go on.

        Safe to call twice.
        """
        if self.is_closed:
            return
        await self._cancel_run()
        for task in self._side_tasks:
            task.cancel()
        if self._side_tasks:
            await asyncio.wait(self._side_tasks)
        self._save_snapshot()
        for tool in self.tools.values():
            await tool.close()
        self.log.close()
        self.is_closed = True
        self._publish(frames.END)

    async def delete(self) -> None:
        """Closes it and removes its directory. The workspace stays."""
        self.is_deleted = True
        await self.close()
        await asyncio.to_thread(shutil.rmtree, self.directory)

    # Watching it

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tells `subscriber` of everything from now on. The result ends that."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def info(self) -> ConversationInfo:
        return describe(self.spec, self.state, self.status, self.directory)

    def full_state(self) -> ConversationStateUpdateEvent:
        """The whole state as one event. It is published, never logged."""
        value = self.info().model_dump(mode="json", exclude_none=True)
        return ConversationStateUpdateEvent(key=FULL_STATE, value=value)

    def publish_full_state(self) -> None:
        self._publish(frames.transient(self.full_state()))

    # Used by the run

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events in one transaction, then folds and publishes them.

        A second result for a call is dropped. seen_seq: what the model had seen when it said this.
        """
        called = {event.tool_call_id for event in events if isinstance(event, ActionEvent)}
        wanted = [event for event in events if self._is_wanted(event, called)]
        if not wanted:
            return
        batch = self._to_records(wanted, seen_seq)
        self.log.append([record for _, record in batch])
        for event, record in batch:
            self._take(event, record)
        for _, record in batch:
            self._publish(frames.durable(record.seq, record.body))
        self._save_snapshot(after_events=SNAPSHOT_EVENTS_WHILE_RUNNING)

    def messages(self) -> Sequence[bytes]:
        """What the model sees. Complete whenever no call is unanswered."""
        return self._fold.view.messages()

    def plan_condensation(self, *, is_requested: bool = False) -> Plan | None:
        """What the condenser should forget now, if anything. is_requested: whether or not it is time."""
        condenser = summarizer(self.agent.condenser)
        if condenser is None:
            return None
        return plan(
            self._fold.view.passages,
            condenser,
            context_tokens=self._fold.context_tokens,
            window_tokens=self.agent.llm.max_input_tokens or self._fold.window_tokens,
            is_requested=is_requested or self.state.wants_condensation,
        )

    def find_loop(self) -> Loop | None:
        """Whether the agent goes round in circles."""
        request = self.spec.request
        if not request.stuck_detection:
            return None
        return look(self.state.trail, request.stuck_detection_thresholds or StuckDetectionThresholds())

    def stream(self, item_id: str) -> ItemStream:
        return ItemStream(item_id, self._publish)

    def _message_event(self, message: Message, message_id: str | None) -> MessageEvent:
        """The message, with what its words bring up."""
        given_id = {} if message_id is None else {"id": message_id}
        found = triggered(self.spec.project.skills, message.text, known=self.state.activated_skills)
        suffix = (self.agent.agent_context or NO_CONTEXT).user_message_suffix
        return MessageEvent(
            llm_message=message,
            activated_skills=[skill.name for skill, _ in found],
            extended_content=[*render_knowledge(found), *([TextContent(text=suffix)] if suffix else [])],
            **given_id,
        )

    def _to_records(self, events: Sequence[Event], seen_seq: int | None) -> list[tuple[AnyEvent, Record]]:
        parent, earliest = self.state.leaf_event_id, self.state.last_timestamp
        batch: list[tuple[AnyEvent, Record]] = []
        for position, event in enumerate(events, start=self.log.last_seq + 1):
            stamped: Any = event.stamped(parent_id=parent, not_before=earliest)
            seen = seen_seq if isinstance(event, ActionEvent | MessageEvent) else None
            body = encode(stamped)
            record = Record(position, stamped.id, stamped.kind, stamped.source, stamped.timestamp, seen, body)
            batch.append((stamped, record))
            earliest = stamped.timestamp
            if not isinstance(event, ConversationStateUpdateEvent):
                parent = stamped.id
        return batch

    def _is_wanted(self, event: Event, called: Collection[str]) -> bool:
        if isinstance(event, ObservationEvent | AgentErrorEvent | UserRejectObservation):
            return event.tool_call_id in called or self.state.is_pending(event.tool_call_id)
        return True

    def _take(self, event: AnyEvent, record: Record) -> None:
        if is_navigation(event):
            usage_id = self.agent.llm.usage_id
            self._fold = fold_branch(self.log, usage_id, event.value, through_seq=record.seq)
        else:
            self._fold.take(event, seq=record.seq, seen_seq=record.seen_seq)

    def _is_on_some_branch(self, event_id: str) -> bool:
        record = self.log.get(event_id)
        return record is not None and record.kind != "ConversationStateUpdateEvent"

    def _save_snapshot(self, *, after_events: int = SNAPSHOT_EVENTS) -> None:
        """So that opening it need not read the whole log. What came after is read from there."""
        if self.log.last_seq - self._snapshot_seq < after_events:
            return
        snapshot = self._fold.snapshot()
        if snapshot is not None:
            self.log.set_meta("snapshot", snapshot)
            self._snapshot_seq = self.log.last_seq

    def _begin_aside(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Work beside the runs; closing the conversation ends it."""
        task = asyncio.create_task(self._logged(work), name=f"{name} {self.id}")
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)
        return task

    async def _logged(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            # Nobody waits for its result, and the runs do not depend on it.
            logger.exception("work beside the runs failed", extra={"conversation_id": str(self.id)})

    async def _condense_alone(self) -> None:
        try:
            await condense(self)
        finally:
            self._condensing = None
        self.publish_full_state()

    def _publish(self, frame: Frame) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(frame)

    async def _run(self) -> None:
        try:
            if self._condensing is not None:
                await asyncio.wait([self._condensing])
            await run(self)
            self._save_snapshot()
        except Exception:
            # Not even the failure could be written down, as on a full disk.
            logger.exception("a run ended without a record", extra={"conversation_id": str(self.id)})
        # Clients wait for this frame to know that the run is over: it comes last, when no run is going on.
        self._run_task = None
        self.publish_full_state()

    async def _cancel_run(self) -> None:
        task = self._run_task
        if task is None or task.done():
            return
        task.cancel()
        _, late = await asyncio.wait([task], timeout=INTERRUPT_GRACE_SECONDS)
        if late:
            logger.warning("a run does not stop", extra={"conversation_id": str(self.id)})

    def _lost_calls(self) -> Sequence[ActionEvent]:
        """Pending calls that cannot simply be run: all, unless those that can have begun only read."""
        begun = [self.tools.get(action.tool_name) for action in self._begun()]
        is_harmless = all(tool is not None and tool.annotations.readOnlyHint for tool in begun)
        return () if is_harmless else self.state.pending

    def _begun(self) -> Sequence[ActionEvent]:
        """The unanswered calls that can have begun."""
        if self.agent.tool_concurrency_limit == 1:
            return self.state.pending[:1]
        return ready(self.state.pending, self.tools)

    def _give_up(self, by: str) -> list[AgentErrorEvent]:
        begun = {action.id for action in self._begun()}
        return [interrupted(action, by=by, may_have_run=action.id in begun) for action in self.state.pending]


def _skill_tools(project: ProjectContext) -> dict[str, AnyTool]:
    """The tool that reads skills, if there are any to read."""
    skills = {skill.name: skill for skill in project.of_type("agentskills")}
    return {InvokeSkillTool.name: InvokeSkillTool(skills)} if skills else {}


def _read_spec(log: EventLog, directory: Path) -> Spec:
    stored = log.get_meta("spec")
    if stored is None:
        raise LogMissingError(str(directory))
    return Spec.model_validate_json(stored)
