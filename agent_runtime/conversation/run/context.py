"""Contains the objects that a run (the work of the agent until it stops) uses: the event log and the state
computed from it, the agent, the agent's tools, and the model's messages.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import UUID

import orjson

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.approval.mcp_approvals import McpApprovals
from agent_runtime.conversation.approval.mcp_questions import McpQuestions
from agent_runtime.conversation.approval.pending_actions import analyzer_of
from agent_runtime.conversation.checkpoints.snapshots import Checkpoints
from agent_runtime.conversation.checkpoints.triggers import CheckpointTriggers
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.history import History
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.info import describe
from agent_runtime.conversation.run.background_tasks import BackgroundTasks
from agent_runtime.conversation.run.model_input import ModelInput
from agent_runtime.conversation.run.slots import RunSlot, RunSlots
from agent_runtime.conversation.run.task import RunTask
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.message import LLMCompletionLogEvent, MessageEvent
from agent_runtime.events.state import FULL_STATE, ConversationStateUpdateEvent, ExecutionStatus
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.completion_log import CompletionLog
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.security.analyzers import asks_model
from agent_runtime.tools.delegation import Delegation
from agent_runtime.tools.live_output import LiveOutputs
from agent_runtime.tools.tool import AnyTool
from agent_runtime.wire import ConversationInfo, StartConversationRequest

SECRETS = "secrets"


class SessionHooks(Protocol):
    """The interface through which a run (the work of the agent until it stops) calls the hooks of its
    conversation.
    """

    async def admit(self, context: "RunContext", messages: Sequence[MessageEvent]) -> None: ...
    async def call(self, context: "RunContext", action: ActionEvent) -> None: ...
    async def object_to_stop(self, context: "RunContext") -> bool: ...
    async def end(self) -> None: ...


class RunContext:
    """The objects that the runs of a conversation share, such as the event log, the agent and the agent's
    tools. A run is the work of the agent from a start until it has finished, waits for the user or fails.
    """

    def __init__(
        self,
        directory: Path,
        log: EventLog,
        spec: Spec,
        agent: Agent,
        client: LLMClient,
        secrets: Secrets,
        delegation: Delegation,
        slots: RunSlots,
    ) -> None:
        self.directory = directory
        self.log = log
        self.spec = spec
        self.agent = agent
        # Called with each log of a completion. The owner of a conversation may keep these logs.
        self.on_completion: Callable[[LLM, LLMCompletionLogEvent], None] | None = None
        self.llm_client = client.logging_to(self._publish_completion)
        self.secrets = secrets
        self.secrets.restore(orjson.loads(log.get_meta(SECRETS) or "{}"))
        self.hooks: SessionHooks | None = None
        self.mcp_approvals = McpApprovals(log, spec.request.mcp_approved)
        self.live = LiveOutputs(lambda shown: self.history.publish(frames.output(shown)))
        self.mcp_questions = McpQuestions(log, self.emit)
        self.toolbox = Toolbox(
            spec,
            agent,
            directory,
            secrets,
            delegation,
            self.mcp_approvals.approvals,
            self.live,
            self.mcp_questions.ask,
        )
        self.history = History(log, agent.llm.usage_id, secrets.masker)
        self.toolbox.ask_about_calls(asks_model(analyzer_of(spec, self.state)))
        self.model_input = ModelInput(spec.id, log, self.history, self.toolbox)
        self.task = RunTask(spec.id)
        self.background = BackgroundTasks(spec.id)
        self.checkpoints = Checkpoints(log, directory, spec.working_dir)
        self.checkpoint_triggers = CheckpointTriggers(
            self.model_input, self.checkpoints, self.background.begin
        )
        self.slots = slots
        self.slot: RunSlot | None = None

    @property
    def id(self) -> UUID:
        return self.spec.id

    @property
    def state(self) -> State:
        return self.history.state

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        return self.toolbox.tools

    @property
    def working_dir(self) -> Path:
        return self.spec.working_dir

    @property
    def request(self) -> StartConversationRequest:
        """The request that created the conversation, without secrets."""
        return self.spec.request

    @property
    def is_running(self) -> bool:
        return self.task.is_running

    @property
    def status(self) -> ExecutionStatus:
        """The current status of the conversation. The status is `running` only while a run (work of the
        agent) is going on. If the log says `running` although no run is going on, a crash has ended the run,
        and this property is `idle`.
        """
        if self.is_running:
            return ExecutionStatus.RUNNING
        stored = self.state.status
        return ExecutionStatus.IDLE if stored is ExecutionStatus.RUNNING else stored

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events to the log in one transaction, updates the state and publishes the events.

        `seen_seq`: for events that the model wrote, the position of the last event in the model's prompt.
        Messages after this position count as not seen by the model. None for events that the model did not
        write.
        """
        self.history.emit(*events, seen_seq=seen_seq)

    def info(self) -> ConversationInfo:
        info = describe(self.spec, self.state, self.status, self.directory)
        return info.model_copy(update={"secret_registry": {"secret_sources": self.secrets.keepable()}})

    def full_state(self) -> ConversationStateUpdateEvent:
        """Returns one event that contains the whole state of the conversation. The event is published to
        clients, but never logged.
        """
        value = self.info().model_dump(mode="json", exclude_none=True)
        return ConversationStateUpdateEvent(key=FULL_STATE, value=value)

    def publish_full_state(self) -> None:
        self.history.publish(frames.transient(self.full_state()))

    @asynccontextmanager
    async def slot_released(self) -> AsyncIterator[None]:
        """Gives the run slot (the permission to run) of this conversation to other conversations while the
        `async with` block is executed. At the end of the block, waits until this conversation has a run slot
        again.

        If the user has requested a pause, does not wait at the end. The run then only logs the pause, and
        needs no run slot for this.
        """
        assert self.slot is not None, "only a run has a slot"
        self.slots.step_aside(self.slot)
        yield
        if not self.state.wants_pause:
            await self.slots.come_back(self.slot)

    def _publish_completion(self, log: CompletionLog) -> None:
        hidden = self.secrets.masker.value(log.body)
        event = LLMCompletionLogEvent(
            filename=log.filename,
            log_data=orjson.dumps(hidden).decode(),
            model_name=log.llm.model,
            usage_id=log.llm.usage_id,
        )
        self.history.publish(frames.transient(event))
        if self.on_completion is not None:
            self.on_completion(log.llm, event)
