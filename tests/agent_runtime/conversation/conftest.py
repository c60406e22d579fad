"""Fixtures for conversations with a real log and a real shell. Only the model is scripted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.event_log.frames import END, EventFrame
from agent_runtime.events.message import Message
from agent_runtime.llm.complete import LLMClient
from agent_runtime.wire import StartConversationRequest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM


def agent_spec(llm: ScriptedLLM, **llm_fields: Any) -> dict[str, Any]:
    model = {
        "model": "openai/scripted",
        "base_url": llm.base_url,
        "api_key": llm.api_key,
        "usage_id": "agent",
        "retry_min_wait": 0,
        "retry_max_wait": 0.01,
        "stream": True,
        **llm_fields,
    }
    return {"kind": "Agent", "llm": model, "tools": [{"name": "terminal"}, {"name": "file_editor"}]}


class Watch:
    """Subscribes to a conversation and collects all frames that it publishes, as decoded JSON."""

    def __init__(self, conversation: ConversationEngine) -> None:
        self.frames: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        conversation.subscribe(self._take)

    def _take(self, frame: EventFrame) -> None:
        if frame is END:
            return
        self.frames.append(orjson.loads(frame.wire))
        task = self._loop.create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Waits until there is a frame for which `is_there` is true, and returns the first such frame."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: any(map(is_there, self.frames)))
        return next(frame for frame in self.frames if is_there(frame))

    async def until_event(self, kind: str) -> dict[str, Any]:
        return await self.until(lambda frame: frame.get("event", {}).get("kind") == kind)

    def of_type(self, name: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == name]


@pytest.fixture
async def client() -> AsyncIterator[LLMClient]:
    client = LLMClient()
    yield client
    await client.close()


class Conversations:
    """Makes conversations in a temporary directory and closes all of them at the end of the test."""

    def __init__(self, path: Path, llm: ScriptedLLM, client: LLMClient) -> None:
        self.path, self.llm, self.client = path, llm, client
        self.workspace = path / "workspace"
        self._open: list[ConversationEngine] = []

    def create(
        self,
        *,
        tools: list[str] | None = None,
        llm: dict[str, Any] | None = None,
        agent: dict[str, Any] | None = None,
        **request: Any,
    ) -> ConversationEngine:
        spec = {**agent_spec(self.llm, **(llm or {})), **(agent or {})}
        if tools is not None:
            spec["tools"] = [{"name": name} for name in tools]
        place = {"working_dir": str(self.workspace)}
        # With autotitle, the request for a title would use up a turn of the script.
        body = {"agent": spec, "workspace": place, "autotitle": False, **request}
        start = StartConversationRequest.model_validate(body)
        return self._keep(create_conversation(self.path / "conversation", start, self.client))

    def reopen(self) -> ConversationEngine:
        return self._keep(open_conversation(self.path / "conversation", self.client))

    def _keep(self, conversation: ConversationEngine) -> ConversationEngine:
        self._open.append(conversation)
        return conversation

    async def close(self) -> None:
        for conversation in self._open:
            await conversation.close()


@pytest.fixture
async def conversations(
    tmp_path: Path, scripted_llm: ScriptedLLM, client: LLMClient
) -> AsyncIterator[Conversations]:
    made = Conversations(tmp_path, scripted_llm, client)
    yield made
    await made.close()


def events_of(conversation: ConversationEngine) -> list[dict[str, Any]]:
    return [orjson.loads(record.body) for record in conversation.log.records()]


def kinds_of(conversation: ConversationEngine) -> list[str]:
    """Returns the kinds of all events in the log, without those of state updates."""
    kinds = [event["kind"] for event in events_of(conversation)]
    return [kind for kind in kinds if kind != "ConversationStateUpdateEvent"]


def statuses_of(conversation: ConversationEngine) -> list[str]:
    return [e["value"] for e in events_of(conversation) if e.get("key") == "execution_status"]


def of_kind(conversation: ConversationEngine, kind: str) -> list[dict[str, Any]]:
    return [event for event in events_of(conversation) if event["kind"] == kind]


def user(text: str) -> Message:
    return Message.of("user", text)
