"""Fixtures: the unmodified client of the SDK, a real agent server of ours, and a scripted model."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from openhands.sdk import LLM, Agent, Conversation, RemoteConversation, Tool
from openhands.sdk.event import ConversationStateUpdateEvent, Event
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.preset.default import register_default_tools
from pydantic import SecretStr

from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, say

register_default_tools(enable_browser=False)


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedLLM]:
    """Yields a scripted model. Requests for titles and other side requests do not use up its turns."""
    with ScriptedLLM(aside=say("A fine title")) as llm:
        yield llm


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """Yields a started agent server. All tests of a session share it, so a test must not stop it."""
    yield from _running(tmp_path_factory.mktemp("agent_server"))


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[AgentServer]:
    """Yields a started agent server for a test that stops it."""
    yield from _running(tmp_path)


def _running(path: Path) -> Iterator[AgentServer]:
    server = AgentServer(path, python=os.environ["SLIPWAY_PYTHON"])
    server.start()
    yield server
    server.stop()


@pytest.fixture
def workspace(server: AgentServer, tmp_path: Path) -> RemoteWorkspace:
    return workspace_on(server, tmp_path)


def workspace_on(server: AgentServer, path: Path) -> RemoteWorkspace:
    directory = path / "work"
    directory.mkdir(exist_ok=True)
    return RemoteWorkspace(host=server.url, api_key=KEY, working_dir=str(directory))


def make_llm(llm: ScriptedLLM, **fields: Any) -> LLM:
    given = {
        "model": "openai/scripted",
        "base_url": llm.base_url,
        "api_key": SecretStr(llm.api_key),
        "usage_id": "agent",
        "num_retries": 0,
    }
    return LLM(**{**given, **fields})


def make_agent(llm: ScriptedLLM, *tools: str, **fields: Any) -> Agent:
    return Agent(llm=make_llm(llm), tools=[Tool(name=name) for name in tools], **fields)


Kind = TypeVar("Kind", bound=Event)
Begin = Callable[..., RemoteConversation]


@pytest.fixture
def begin(workspace: RemoteWorkspace, scripted_llm: ScriptedLLM) -> Iterator[Begin]:
    """Yields a function that opens a conversation with an agent that has these tools. The conversations are
    deleted at the end.
    """
    opened: list[RemoteConversation] = []

    def begin(*tools: str, agent: Agent | None = None, **fields: Any) -> RemoteConversation:
        conversation = Conversation(
            agent=agent or make_agent(scripted_llm, *tools),
            workspace=fields.pop("workspace", workspace),
            visualizer=None,
            **fields,
        )
        opened.append(conversation)
        return conversation

    yield begin
    for conversation in opened:
        # The deletion ends the WebSocket of the conversation. Before it, `close` would wait in vain.
        workspace.client.delete(f"/api/conversations/{conversation.id}")
        conversation.close()


class Heard:
    """An event callback that keeps the events it gets. Tests can wait for an event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait_for(self, is_it: Callable[[Any], bool]) -> None:
        """Waits until there is an event for which `is_it` is true. Fails after PATIENCE_SECONDS."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(map(is_it, self.events)), PATIENCE_SECONDS), kinds(
                self.events
            )

    def wait_for_status(self, status: str) -> None:
        """Waits until there is an event with the full state and this execution status."""
        self.wait_for(
            lambda event: (
                isinstance(event, ConversationStateUpdateEvent)
                and event.key == "full_state"
                and event.value["execution_status"] == status
            )
        )


def kinds(events: Any) -> list[str]:
    """Returns the kinds of these events, without those of state updates."""
    return [event.kind for event in events if event.kind != "ConversationStateUpdateEvent"]


def only(events: Any, kind: type[Kind] | tuple[type[Kind], ...]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]
