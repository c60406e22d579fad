"""Real agent servers with conversations on them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.conversation.conftest import agent_spec
from tests.support.agent_server import AgentServer
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.scripted_llm import ScriptedLLM


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """One server for all tests that leave it alive."""
    server = AgentServer(tmp_path_factory.mktemp("agent_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[AgentServer]:
    """A server for tests that kill it. Start it yourself."""
    server = AgentServer(tmp_path)
    yield server
    if server.process is not None:
        server.kill()


def start_request(llm: ScriptedLLM, path: Path, text: str | None = None, **fields: Any) -> dict[str, Any]:
    """The body that creates a conversation; with `text` it begins at once. A title would take a turn."""
    body: dict[str, Any] = {
        "agent": agent_spec(llm),
        "workspace": {"working_dir": str(path / "work")},
        "autotitle": False,
        **fields,
    }
    if text is not None:
        body["initial_message"] = message(text, run=True)
    return body


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], **fields}


def wait_until(value: Callable[[], Any], *, timeout_seconds: float = PATIENCE_SECONDS) -> Any:
    """The value, as soon as it is true."""
    deadline = time.monotonic() + timeout_seconds
    pauses = pauses_between_looks()
    while time.monotonic() < deadline:
        found = value()
        if found:
            return found
        time.sleep(next(pauses))
    raise TimeoutError


def status_of(server: AgentServer, conversation_id: str) -> str:
    return str(server.call("GET", f"/api/conversations/{conversation_id}")["execution_status"])
