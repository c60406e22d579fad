"""Tests of an agent with the reference MCP server of the protocol's authors. The server speaks an older
revision of MCP.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types.version import LATEST_HANDSHAKE_VERSION

from tests.agent_runtime.conversation.conftest import Conversations, events_of, of_kind, user
from tests.support.agent_server import free_port
from tests.support.mcp_processes import ROOT, listens
from tests.support.scripted_llm import ScriptedLLM, call, say

SERVER = ROOT / "frontend/node_modules/@modelcontextprotocol/server-everything/dist/index.js"


@pytest.fixture(params=["stdio", "http"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    if request.param == "stdio":
        yield {"command": "node", "args": [str(SERVER), "stdio"]}
        return
    port = free_port()
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            ["node", str(SERVER), "streamableHttp"],
            env={**os.environ, "PORT": str(port)},
            stdout=log,
            stderr=log,
        )
        try:
            while not listens(port):
                assert process.poll() is None, (tmp_path / "server.log").read_text()
            yield {"url": f"http://127.0.0.1:{port}/mcp"}
        finally:
            process.kill()
            process.wait()


async def test_its_tools_are_offered_checked_and_called(
    conversations: Conversations, scripted_llm: ScriptedLLM, foreign: dict[str, Any]
):
    scripted_llm.script(
        call("get-sum", a=40, b="two"), call("get-sum", a=40, b=2), call("get-tiny-image"), say("42")
    )
    conversation = conversations.create(agent={"mcp_config": {"everything": foreign}})
    conversation.send(user("40 + 2?"))

    await conversation.run()

    assert conversation.status == "finished"
    schema = next(t for t in scripted_llm.requests[0].body["tools"] if t["function"]["name"] == "get-sum")
    assert set(schema["function"]["parameters"]["required"]) >= {"a", "b"}
    [error] = of_kind(conversation, "AgentErrorEvent")
    assert "`b`" in error["error"]
    summed, pictured = (
        event["observation"]["content"] for event in of_kind(conversation, "ObservationEvent")
    )
    assert "42" in summed[1]["text"]
    assert any(part["type"] == "image" for part in pictured)
    states = [event["value"] for event in events_of(conversation) if event.get("key") == "agent_state"]
    [approved] = [state["mcp_approved"] for state in states if "mcp_approved" in state]
    assert "get-sum" in approved["everything"]
    [report] = [state["mcp_servers"] for state in states if "mcp_servers" in state]
    assert report["everything"]["protocol_version"] == LATEST_HANDSHAKE_VERSION
