"""A dialogue of a user with an agent. Its log is the truth; `emit` is the only writer."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from agent_runtime.agent.agent import Agent, system_prompt_event
from agent_runtime.agent.execute import interrupted, ready
from agent_runtime.context.view import View
from agent_runtime.conversation import frames
from agent_runtime.conversation.frames import Frame
from agent_runtime.conversation.log import EventLog, LogMissingError, Record
from agent_runtime.conversation.run import run
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.state import State, after
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event, JsonObject, encode
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
from agent_runtime.events.union import AnyEvent, parse_event
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.messages import PieceKind
from agent_runtime.tools.registry import create_tools
from agent_runtime.tools.tool import AnyTool, ToolContext, model_schema
from agent_runtime.wire import ConversationInfo, StartConversationRequest

logger = logging.getLogger(__name__)

INTERRUPT_GRACE_SECONDS = 10

Subscriber = Callable[[Frame], None]
"""Told of everything published, in order. Must return at once and must not raise."""


class AlreadyRunningError(Exception):
    """A run was asked for while one is going on."""


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
        self.tools: Mapping[str, AnyTool] = create_tools(
            agent.tools, context, spec.request.tool_module_qualnames
        )
        self.schemas: Sequence[dict[str, Any]] = [model_schema(tool) for tool in self.tools.values()]
        self.state = State()
        self._view = View()
        self._subscribers: list[Subscriber] = []
        self._run_task: asyncio.Task[None] | None = None
        self.is_closed = False
        self.is_deleted = False
        for record in log.records():
            self._take(parse_event(record.body), record.seen_seq)

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
        given_id = {} if message_id is None else {"id": message_id}
        events: list[Event] = [MessageEvent(llm_message=message, **given_id)]
        if not self.state.has_system_prompt:
            opening = system_prompt_event(self.agent, self.tools, working_dir=str(self.spec.working_dir))
            events.insert(0, opening)
        if not self.is_running and self.state.status in {ExecutionStatus.FINISHED, ExecutionStatus.STUCK}:
            events.append(status_update(ExecutionStatus.IDLE))
        self.emit(*events)
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
        state, request = self.state, self.spec.request
        updated_at = _to_utc(state.last_timestamp) if state.last_timestamp else self.spec.created_at
        return ConversationInfo.model_validate(
            {
                **request.model_dump(exclude={"conversation_id", "initial_message", "autotitle"}),
                "id": self.id,
                "persistence_dir": str(self.directory),
                "execution_status": self.status,
                "last_user_message_id": state.last_user_message_id,
                "leaf_event_id": state.leaf_event_id,
                "stats": state.stats,
                "metrics": _total(state.stats),
                "title": state.title or request.title,
                "created_at": self.spec.created_at,
                "updated_at": updated_at,
            }
        )

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
            self._take(event, record.seen_seq)
        for _, record in batch:
            self._publish(frames.durable(record.seq, record.body))

    def messages(self) -> Sequence[bytes]:
        return self._view.messages()

    def stream(self, item_id: str) -> "ItemStream":
        return ItemStream(item_id, self._publish)

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

    def _take(self, event: AnyEvent, seen_seq: int | None) -> None:
        self.state = after(self.state, event, seen_seq)
        self._view.add(event)

    def _publish(self, frame: Frame) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(frame)

    async def _run(self) -> None:
        try:
            await run(self)
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


class ItemStream:
    """Publishes the pieces of one reply."""

    def __init__(self, item_id: str, publish: Callable[[Frame], None]) -> None:
        self._item_id = item_id
        self._publish = publish
        self._open_attempt: int | None = None
        self._order = 0

    def started(self, attempt: int) -> None:
        self._open_attempt, self._order = attempt, 0
        self._publish(frames.item_started(self._item_id, attempt))

    def piece(self, attempt: int, kind: PieceKind, content: str) -> None:
        self._publish(frames.delta(self._item_id, attempt, self._order, kind, content))
        self._order += 1

    def aborted(self, attempt: int, reason: str) -> None:
        self._open_attempt = None
        self._publish(frames.item_aborted(self._item_id, attempt, reason))

    def drop(self, reason: str) -> None:
        if self._open_attempt is not None:
            self.aborted(self._open_attempt, reason)


def _read_spec(log: EventLog, directory: Path) -> Spec:
    stored = log.get_meta("spec")
    if stored is None:
        raise LogMissingError(str(directory))
    return Spec.model_validate_json(stored)


def _to_utc(timestamp: str) -> datetime:
    """Events carry naive local time."""
    return datetime.fromisoformat(timestamp).astimezone(UTC)


def _total(stats: JsonObject) -> JsonObject:
    metrics = stats["usage_to_metrics"].values()
    names = (
        "prompt_tokens",
        "completion_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    )
    usage = {name: sum(m["accumulated_token_usage"][name] for m in metrics) for name in names}
    cost = sum(m["accumulated_cost"] for m in metrics)
    return {"accumulated_cost": cost, "accumulated_token_usage": usage}
