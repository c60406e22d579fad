"""Fixtures: conversations in this process, on an agent server and in a container."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import (
    LLM,
    Agent,
    AnyEvent,
    Conversation,
    DockerWorkspace,
    LLMSummarizingCondenser,
    LocalWorkspace,
    MessageEvent,
    RemoteWorkspace,
    ToolSpec,
)
from tests.support.agent_server import KEY, AgentServer
from tests.support.bridge import host_on_bridge
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM


@dataclass
class Place:
    """A place where a test runs its conversations: a workspace, and the scripted model that answers."""

    name: str
    llm: ScriptedLLM
    workspace: LocalWorkspace | RemoteWorkspace
    persistence_dir: Path | None
    _open: list[Conversation] = field(default_factory=list)

    def agent(self, *, condenser: bool = False, **llm_fields: Any) -> Agent:
        model = LLM(
            base_url=self.llm.base_url,
            api_key=self.llm.api_key,  # type: ignore[arg-type]  # pydantic makes a secret of it
            num_retries=0,
            **{"model": "openai/scripted", "stream": True, **llm_fields},
        )
        summarizer = LLMSummarizingCondenser(llm=model, keep_first=1) if condenser else None
        return Agent(llm=model, tools=[ToolSpec(name="terminal")], condenser=summarizer)

    def conversation(self, agent: Agent | None = None, **options: Any) -> Conversation:
        """Opens a conversation in this place and closes it when the test ends. agent: None means an agent
        with defaults. options: further arguments of Conversation.
        """
        kept = {} if self.persistence_dir is None else {"persistence_dir": self.persistence_dir}
        made = Conversation(agent or self.agent(), self.workspace, **{**kept, **options})
        self._open.append(made)
        return made

    def close(self) -> None:
        for conversation in self._open:
            conversation.close()
        self.workspace.close()


@pytest.fixture(scope="session")
def agent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    server = AgentServer(tmp_path_factory.mktemp("agent_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def container() -> Iterator[DockerWorkspace]:
    with DockerWorkspace(sandbox_image(), memory_bytes=1024**3) as workspace:
        yield workspace


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points HOME to a temporary directory, so that no test reads files of the person who runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def bridge_llm() -> Iterator[ScriptedLLM]:
    """Yields a scripted model that containers can reach: it listens on this host's address in Docker's
    network.
    """
    with ScriptedLLM(host=host_on_bridge()) as llm:
        yield llm


@pytest.fixture(params=["local", "remote", pytest.param("docker", marks=[pytest.mark.docker])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = _MAKERS[request.param](request, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["local", "remote"])
def local_or_remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Yields a place in this process or on an agent server. Each test with this fixture runs once with each
    of the two.
    """
    made = _MAKERS[request.param](request, tmp_path)
    yield made
    made.close()


def _local(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    llm = request.getfixturevalue("scripted_llm")
    return Place("local", llm, LocalWorkspace(tmp_path / "work"), tmp_path / "conversations")


def _remote(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    llm, server = request.getfixturevalue("scripted_llm"), request.getfixturevalue("agent_server")
    workspace = RemoteWorkspace(server.url, api_key=KEY, working_dir=str(tmp_path / "work"))
    return Place("remote", llm, workspace, None)


def _docker(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    llm, container = request.getfixturevalue("bridge_llm"), request.getfixturevalue("container")
    directory = f"{container.working_dir}/{uuid.uuid4().hex}"
    workspace = RemoteWorkspace(container.host, api_key=container.api_key, working_dir=directory)
    return Place("docker", llm, workspace, None)


_MAKERS: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "local": _local,
    "remote": _remote,
    "docker": _docker,
}


def kinds(events: list[AnyEvent] | tuple[AnyEvent, ...] | Any) -> list[str]:
    """Returns the kinds of these events, without those of state updates."""
    return [event.kind for event in events if event.kind != "ConversationStateUpdateEvent"]


def messages(events: Any) -> list[MessageEvent]:
    return [event for event in events if isinstance(event, MessageEvent)]


def last_message(events: Any) -> MessageEvent:
    return messages(events)[-1]
