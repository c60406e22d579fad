"""Tests of the server's OpenAPI description, and of wrong requests that once caused internal errors."""

from pathlib import Path
from uuid import uuid4

import pytest

from agent_runtime.server.config import Config
from agent_runtime.server.main import create_app
from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM

Operation = dict[str, dict[str, dict[str, object]]]


def operations() -> dict[str, Operation]:
    paths = create_app(Config()).openapi()["paths"]
    return {f"{method.upper()} {path}": one for path, item in paths.items() for method, one in item.items()}


def test_every_refusal_is_described_as_a_problem():
    for name, operation in operations().items():
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"], (name, status)


def test_every_operation_that_needs_a_key_says_so():
    for name, operation in operations().items():
        path = name.partition(" ")[2]
        assert ("401" in operation["responses"]) == path.startswith(("/api/", "/v1/")), name


def test_no_two_operations_have_the_same_id():
    ids = [operation["operationId"] for operation in operations().values()]

    assert len(ids) == len(set(ids))


def test_an_invalid_agent_is_refused_for_a_known_conversation_too(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    body = {**start_request(scripted_llm, tmp_path), "conversation_id": str(uuid4())}
    server.call("POST", "/api/conversations", json=body)

    with server.http as http:
        refusal = http.post("/api/conversations", json={**body, "agent": {"tools": 3}})

    assert refusal.status_code == 422
    assert refusal.json()["code"] == "validation_failed"


@pytest.mark.parametrize("name", ["0" * 2000, "~nobody-here/plugin", "null\0byte"])
def test_a_plugin_that_no_directory_can_be_called_is_refused(server: AgentServer, name: str):
    with server.http as http:
        refusal = http.post("/api/plugins/fetch", json={"source": name})

    assert refusal.status_code == 422
    assert refusal.json()["detail"]
