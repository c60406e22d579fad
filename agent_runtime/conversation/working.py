"""The objects that a run works with: the log and the state made of it, the agent, and its tools."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from agent_runtime.agent.agent import Agent
from agent_runtime.agent.stuck import Loop, look
from agent_runtime.context.condense import CondensationPlan, plan, summarizer
from agent_runtime.conversation.approval.mcp_approvals import McpApprovals
from agent_runtime.conversation.approval.mcp_questions import McpQuestions
from agent_runtime.conversation.approval.pending_actions import analyzer_of, review, reviewer_of
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.history import History
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.event_log.reply_stream import ReplyStream
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.path_rules import with_rules
from agent_runtime.conversation.run.context import SessionHooks
from agent_runtime.conversation.run.keepsakes import keepsakes
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.message import LLMCompletionLogEvent, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ToolResult
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent, parse_event
from agent_runtime.llm.capabilities import listed
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.completion_log import CompletionLog, LoggingClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import Prompt
from agent_runtime.secrets.registry import Secrets
from agent_runtime.security.analyzers import asks_model
from agent_runtime.security.policy import NeverConfirm
from agent_runtime.tools.delegation import Delegation
from agent_runtime.tools.live_output import LiveOutputs
from agent_runtime.tools.tool import AnyTool
from agent_runtime.wire import StartConversationRequest, StuckDetectionThresholds

SECRETS = "secrets"


class Working:
    """The part of a conversation that a run uses. See `run/context.Running`."""

    def __init__(
        self,
        directory: Path,
        log: EventLog,
        spec: Spec,
        agent: Agent,
        client: LLMClient,
        secrets: Secrets,
        delegation: Delegation,
    ) -> None:
        self.directory = directory
        self.log = log
        self.spec = spec
        self.agent = agent
        # Told of each log of a completion: the owner of a conversation may keep them.
        self.on_completion: Callable[[LLM, LLMCompletionLogEvent], None] | None = None
        self.llm_client = LoggingClient(client, self._publish_completion)
        self.secrets = secrets
        self.secrets.restore(orjson.loads(log.get_meta(SECRETS) or "{}"))
        self.hooks: SessionHooks | None = None
        self.mcp_approvals = McpApprovals(log, spec.request.mcp_approved)
        self.live = LiveOutputs(lambda shown: self._history.publish(frames.output(shown)))
        self.mcp_questions = McpQuestions(log, self.emit)
        self._toolbox = Toolbox(
            spec,
            agent,
            directory,
            secrets,
            delegation,
            self.mcp_approvals.approvals,
            self.live,
            self.mcp_questions.ask,
        )
        self._history = History(log, agent.llm.usage_id, secrets.masker)
        self.apply_analyzer()

    @property
    def id(self) -> UUID:
        return self.spec.id

    @property
    def state(self) -> State:
        return self._history.state

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        return self._toolbox.tools

    @property
    def schemas(self) -> Sequence[dict[str, Any]]:
        return self._toolbox.schemas

    @property
    def working_dir(self) -> Path:
        return self.spec.working_dir

    @property
    def request(self) -> StartConversationRequest:
        """The request that began the conversation, without secrets."""
        return self.spec.request

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events in one transaction, then updates the state and publishes them.

        A second result for a call is dropped. `seen_seq`: the last position that the model had seen when it
        wrote these events.
        """
        self._history.emit(*events, seen_seq=seen_seq)

    def _publish_completion(self, log: CompletionLog) -> None:
        hidden = self.secrets.masker.value(log.body)
        event = LLMCompletionLogEvent(
            filename=log.filename,
            log_data=orjson.dumps(hidden).decode(),
            model_name=log.llm.model,
            usage_id=log.llm.usage_id,
        )
        self._history.publish(frames.transient(event))
        if self.on_completion is not None:
            self.on_completion(log.llm, event)

    async def prepare_tools(self) -> None:
        """Connects to the agent's MCP servers, and logs what they offer or why they offer nothing."""
        self.mcp_questions.close_lost()
        policy = reviewer_of(self.spec, self.state, self.tools).policy
        news = await self._toolbox.prepare(asks=not isinstance(policy, NeverConfirm))
        if news is not None:
            self.emit(ConversationStateUpdateEvent(key="agent_state", value={"mcp_servers": news}))
        self.emit(*self.mcp_approvals.keep())

    def apply_analyzer(self) -> None:
        """Sets in each tool's schema what the model says about its calls for the analyzer."""
        self._toolbox.ask_about_calls(asks_model(analyzer_of(self.spec, self.state)))

    def messages(self) -> Sequence[bytes]:
        """Returns the messages that the model sees. They are complete whenever no call is unanswered."""
        return self._history.view.messages()

    def prompt(self) -> Prompt:
        """Returns the agent's next prompt, as `step` sends it."""
        return Prompt(messages=self.messages(), tools=self.schemas, cache_key=str(self.id))

    def kept_words(self, plan: CondensationPlan) -> str:
        """Returns what stays word for word after the summary of what the plan forgets."""
        message_id = self.state.last_user_message_id
        record = self.log.get(message_id) if message_id is not None else None
        order = None if record is None else MessageEvent.model_validate_json(record.body)
        return keepsakes(plan, self._history.view.passages, order, self.state.work)

    def unseen_messages(self) -> Sequence[MessageEvent]:
        """Returns the user's messages that the model has not seen yet."""
        records = [self.log.get(message_id) for _, message_id in self.state.unseen_messages]
        said = [record.body for record in records if record is not None and record.source == "user"]
        return [MessageEvent.model_validate_json(body) for body in said]

    def first_unseen_message(self, passed: Collection[str | None]) -> MessageEvent | None:
        """Returns the user's oldest unseen message whose id is not in `passed`, or None. Reads no later
        messages from the log.
        """
        for _, message_id in self.state.unseen_messages:
            record = self.log.get(message_id) if message_id not in passed else None
            if record is not None and record.source == "user":
                return MessageEvent.model_validate_json(record.body)
        return None

    def recent_events(self, limit: int) -> Iterator[AnyEvent]:
        """Yields the newest events, newest first, read one by one."""
        return map(parse_event, self.log.newest(limit))

    def plan_condensation(self, *, is_requested: bool = False) -> CondensationPlan | None:
        """Returns what the condenser should forget now, or None. `is_requested`: plan it even if it is not
        time yet.
        """
        condenser = summarizer(self.agent.condenser)
        if condenser is None:
            return None
        return plan(
            self._history.view.passages,
            condenser,
            context_tokens=self._history.context_tokens,
            window_tokens=self.agent.llm.max_input_tokens
            or self._history.window_tokens
            or listed(self.agent.llm).window,
            is_requested=is_requested or self.state.wants_condensation,
        )

    def review(self, events: Sequence[Event]) -> list[Event]:
        """Returns the security analysis of the actions in one reply, and the event that makes them wait, if
        they must.
        """
        if self.state.must_ask:
            return []  # whatever they are, they will be refused
        answered = {event.tool_call_id for event in events if isinstance(event, AgentErrorEvent)}
        actions = [
            event for event in events if isinstance(event, ActionEvent) and event.tool_call_id not in answered
        ]
        return review(reviewer_of(self.spec, self.state, self.tools), actions)

    def instructed(self, result: ToolResult) -> ToolResult:
        """Returns the result of a pending call, with the rules for paths that the call was the first to
        touch.
        """
        return with_rules(result, self.state, self.tools, self.spec)

    def find_loop(self) -> Loop | None:
        """Returns the loop if the agent repeats itself, otherwise None."""
        request = self.spec.request
        if not request.stuck_detection:
            return None
        limits = request.stuck_detection_thresholds or StuckDetectionThresholds()
        return look(self.state.trail, limits, may_ask=request.ask_when_stuck)

    def stream(self, item_id: str) -> ReplyStream:
        return ReplyStream(item_id, self._history.publish, self.secrets.masker)
