"""Fixtures and helpers for tests with a real agent server and conversations on it."""

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
    """Yields a started agent server. All tests of a session share it, so a test must not stop it."""
    server = AgentServer(tmp_path_factory.mktemp("agent_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[AgentServer]:
    """Yields an agent server for a test that kills it. The test has to start it."""
    server = AgentServer(tmp_path)
    yield server
    if server.process is not None:
        server.kill()


def start_request(llm: ScriptedLLM, path: Path, text: str | None = None, **fields: Any) -> dict[str, Any]:
    """Returns the body of a request that creates a conversation without a generated title, which would need a
    scripted reply. text: the first message, with which a run starts. None: no message and no run.
    """
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
    """Calls `value` until its result is true and returns this result. Raises TimeoutError after
    `timeout_seconds`.
    """
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
