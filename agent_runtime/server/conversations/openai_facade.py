"""Lets clients of OpenAI's API use an agent like a model: the client's request becomes a user message, and
the agent's answer becomes the reply.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.conversation.event_log.log import Filter, LogReader
from agent_runtime.conversation.event_log.state import FINISH
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.conversation.conversations import check_size, deliver
from agent_runtime.server.routers.project.tools import DEFAULT_SET
from agent_runtime.server.saved.encrypted_settings import Saved
from agent_runtime.time_limits import time_limit
from agent_runtime.wire import SendMessageRequest, StartConversationRequest, WorkingDirectory

MAX_WAITING_CHARS = 1024 * 1024
KEEP_ALIVE_SECONDS = 15.0
_LAST_ERROR = Filter(kind="ConversationErrorEvent")


@dataclass(frozen=True)
class SplitRequest:
    """A request of an OpenAI client, split into its parts.

    `system`: instructions that are added to the agent's own instructions. `history`: the messages before the
    user's last message. `last`: the content of the user's last message.
    """

    system: str
    history: Sequence[Message]
    last: Sequence[Content]


@dataclass(frozen=True)
class FacadeUsage:
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int


def begin(
    registry: Registry, saved: Saved, model: str, working_dir: str, asked: SplitRequest
) -> ConversationEngine:
    """Creates a conversation for a request of an OpenAI client. The conversation contains the earlier
    messages of the request. The last message of the request is not sent to the agent yet.

    `saved`: the user's saved settings and model profiles. `model`: the name of the model profile (saved model
    settings with a name) whose model the agent uses. `working_dir`: the directory where the agent works.
    `asked`: the request, split into its parts. Raises ServerProblem 404 if the model profile does not exist.
    """
    llm = require_model(saved, model)
    settings = {key: value for key, value in saved.agent_settings.items() if key != "agent_kind"}
    agent = {"tools": [{"name": name} for name in DEFAULT_SET], **settings, "llm": llm}
    if asked.system:
        agent["agent_context"] = {**(agent.get("agent_context") or {}), "system_message_suffix": asked.system}
    # OpenAI clients see no titles, so no model call is made for one.
    request = StartConversationRequest(
        agent=agent, workspace=WorkingDirectory(working_dir=working_dir), autotitle=False
    )
    conversation, _ = registry.create(request)
    for message in asked.history:
        if message.role == "user":
            conversation.send(message)
        elif conversation.state.has_system_prompt:
            said = MessageEvent(source="agent", llm_message=message)
            conversation.emit(said, seen_seq=conversation.state.last_seq)
    return conversation


def require_model(saved: Saved, model: str) -> JsonObject:
    """Returns the model profile (saved model settings) with the name `model`. Raises ServerProblem 404 if the
    profile does not exist.
    """
    llm = saved.profiles.get(model)
    if llm is None:
        known = ", ".join(sorted(saved.profiles)) or "none yet"
        raise ServerProblem(
            404, "model_not_found", f"There is no profile {model[:128]}. Profiles that exist: {known}."
        )
    return llm


def answer_to(log: LogReader, question: str) -> str | None:
    """Returns the agent's answer to the user message with the id `question`. This is the agent's last message
    before the next user message, or the text with which the agent finished its work.

    Returns None if that user message does not exist, or if the agent has not answered it.
    """
    asked = log.get(question)
    if asked is None or asked.kind != "MessageEvent" or asked.source != "user":
        return None
    said = None
    for record in log.records(after_seq=asked.seq):
        if record.kind == "MessageEvent" and record.source == "user":
            break
        if record.kind == "MessageEvent" and record.source == "agent":
            said = MessageEvent.model_validate_json(record.body).llm_message.text
        elif record.kind == "ActionEvent":
            call = ActionEvent.model_validate_json(record.body)
            if call.tool_name == FINISH and call.action is not None:
                said = str(call.action.get("message", ""))
    return said


class FacadeAnswer:
    """The answer of the agent to one question of an OpenAI client. The constructor sends the question to the
    agent. The method `text` waits for the answer.

    While the agent works, the object collects the text that the model streams; the method `thoughts` yields
    it.
    """

    def __init__(self, conversation: ConversationEngine, last: Sequence[Content]) -> None:
        message = SendMessageRequest(content=list(last), run=True)
        check_size(message)
        self.conversation = conversation
        self._before = _tokens(conversation)
        self._pieces: list[str] = []
        self._waiting_chars = 0
        self._changed = asyncio.Event()
        self._stop: Callable[[], None] | None = conversation.subscribe(self._take)
        deliver(conversation, message)
        self.question_id = conversation.state.last_user_message_id or ""

    async def text(self) -> str:
        """Waits until the agent has stopped working and returns the agent's answer. Raises ServerProblem if
        there is no answer.
        """
        try:
            await self.conversation.wait()
        finally:
            self._hush()
        _check(self.conversation)
        return self.conversation.state.final_response

    async def thoughts(self) -> AsyncIterator[str]:
        """Yields the text that the model streams, until the agent has stopped working.

        Yields an empty text after each KEEP_ALIVE_SECONDS without text, so that the caller can send something
        and the client's connection stays open.
        """
        ended = asyncio.create_task(self.conversation.wait())
        ended.add_done_callback(lambda _: self._changed.set())
        try:
            while not ended.done() or self._pieces:
                yield await self._next()
        finally:
            ended.cancel()
            self._hush()

    @property
    def usage(self) -> FacadeUsage:
        """The number of tokens that all model calls have used since this question was sent."""
        now = _tokens(self.conversation)
        names = ("prompt_tokens", "cache_read_tokens", "completion_tokens", "reasoning_tokens")
        return FacadeUsage(*(now.get(name, 0) - self._before.get(name, 0) for name in names))

    def _hush(self) -> None:
        """Stops receiving the text that the model streams. A second call has no effect."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def _take(self, frame: EventFrame) -> None:
        if b'"type":"delta"' not in frame.wire[:32] or self._waiting_chars > MAX_WAITING_CHARS:
            return
        content = orjson.loads(frame.wire)["content"]
        self._pieces.append(content)
        self._waiting_chars += len(content)
        self._changed.set()

    async def _next(self) -> str:
        try:
            async with time_limit(KEEP_ALIVE_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            return ""
        self._changed.clear()
        text, self._pieces, self._waiting_chars = "".join(self._pieces), [], 0
        return text


def parse_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise ServerProblem(404, "conversation_not_found", "There is no such conversation.") from error


def text_of(content: Sequence[Content]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, TextContent))


def _tokens(conversation: ConversationEngine) -> dict[str, int]:
    usage = (conversation.info().metrics or {}).get("accumulated_token_usage", {})
    return {name: int(count) for name, count in usage.items()}


def _check(conversation: ConversationEngine) -> None:
    status = conversation.status
    if status is ExecutionStatus.FINISHED:
        return
    if status is ExecutionStatus.ERROR:
        found, _ = conversation.log.search(_LAST_ERROR, from_seq=None, descending=True, limit=1)
        error = orjson.loads(found[0].body) if found else {"code": "unknown", "detail": "The run failed."}
        raise ServerProblem(502, "run_failed", f"{error['code']}: {error['detail']}")
    raise ServerProblem(
        409,
        f"run_{status.value}",
        f"The run did not come to an answer: the conversation is {status.value}.",
        f"Go on with it by /api/conversations/{conversation.id}.",
    )
