"""Tests of the routes that try out an MCP server or sign in to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.mcp_processes import STDIO, http_server
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, say


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_oauth_server") as url:
        yield url


def try_out(server: AgentServer, candidate: dict[str, Any], **fields: Any) -> dict[str, Any]:
    result: dict[str, Any] = server.call("POST", "/api/mcp/test", json={"server": candidate, **fields})
    return result


def test_a_good_server_tells_its_tools_and_answers_a_call(server: AgentServer):
    wanted = {"name": "add", "arguments": {"a": 2, "b": 3}}

    result = try_out(server, {"type": "stdio", **STDIO}, tool_call=wanted)

    assert result["ok"] is True
    assert {"add", "fail"} <= set(result["tools"])
    assert result["tool_result"] == {"is_error": False, "text": "sum=5"}


@pytest.mark.parametrize("tool", ["fail", "no_such_tool"])
def test_a_call_that_fails_is_reported_beside_the_tools(server: AgentServer, tool: str):
    result = try_out(server, STDIO, tool_call={"name": tool})

    assert result["ok"] is True
    assert result["tool_result"]["is_error"] is True


@pytest.mark.parametrize(
    ("candidate", "kind", "words", "timeout"),
    [
        ({"command": "no-such-command"}, "connection", "no-such-command", 120),
        ({"command": "sh", "args": ["-c", "echo broken >&2"]}, "connection", "broken", 120),
        ({"command": "sleep", "args": ["600"]}, "timeout", "1.5 seconds", 1.5),
        ({"type": "http", "url": "http://127.0.0.1:9/mcp"}, "connection", "connection", 120),
        ({"type": "stdio"}, "unknown", "command", 120),
    ],
)
def test_a_bad_server_tells_why(
    server: AgentServer, candidate: dict[str, Any], kind: str, words: str, timeout: float
):
    result = try_out(server, candidate, timeout=timeout)

    assert result["ok"] is False
    assert result["error_kind"] == kind
    assert words in result["error"]


def test_a_person_signs_in_and_the_agent_uses_it(
    server: AgentServer, guarded_url: str, scripted_llm: ScriptedLLM, tmp_path: Path
):
    candidate = {"type": "http", "url": guarded_url, "auth": {"strategy": "oauth2"}}
    assert "sign in" in try_out(server, candidate)["error"]

    started = server.call("POST", "/api/mcp/oauth/start", json={"server": candidate})
    job = started["job_id"]
    assert server.call("GET", f"/api/mcp/oauth/status/{job}")["status"] == "authorizing"
    there = httpx.get(started["authorization_url"], timeout=PATIENCE_SECONDS)
    server.call("POST", f"/api/mcp/oauth/callback/{job}", json={"callback_url": there.headers["location"]})
    wait_until(lambda: server.call("GET", f"/api/mcp/oauth/status/{job}")["status"] == "succeeded")

    done = server.call("GET", f"/api/mcp/oauth/status/{job}")
    assert done["tools"] == ["whoami", "change"]
    auth = {"strategy": "oauth2", "state": done["oauth_state"]}
    scripted_llm.script(call("whoami"), say("I am in."))
    body = start_request(scripted_llm, tmp_path, "Who am I?")
    body["agent"]["mcp_config"] = {"guarded": {"url": guarded_url, "auth": auth}}
    info = server.call("POST", "/api/conversations", json=body)
    wait_until(lambda: status_of(server, info["id"]) == "finished")
    assert "you are in" in scripted_llm.requests[1].last_text
    assert done["oauth_state"]["tokens"]["access_token"] not in str(info)


def signed_in(server: AgentServer, url: str, **auth: Any) -> dict[str, Any]:
    """Signs in to the MCP server at `url`. Returns the server's configuration for a conversation, with the
    sign-in state.
    """
    given = {"strategy": "oauth2", **auth}
    candidate = {"type": "http", "url": url, "auth": given}
    started = server.call("POST", "/api/mcp/oauth/start", json={"server": candidate})
    job = started["job_id"]
    there = httpx.get(started["authorization_url"], timeout=PATIENCE_SECONDS)
    server.call("POST", f"/api/mcp/oauth/callback/{job}", json={"callback_url": there.headers["location"]})
    wait_until(lambda: server.call("GET", f"/api/mcp/oauth/status/{job}")["status"] == "succeeded")
    done = server.call("GET", f"/api/mcp/oauth/status/{job}")
    return {**candidate, "auth": {**given, "state": done["oauth_state"]}}


def test_a_call_that_needs_a_wider_scope_is_refused_and_goes_on_with_a_sign_in_that_has_it(
    server: AgentServer, guarded_url: str
):
    def calling(tool: str, of: dict[str, Any]) -> dict[str, Any]:
        asked = {"server": of, "tool_call": {"name": tool, "arguments": {}}}
        result: dict[str, Any] = server.call("POST", "/api/mcp/test", json=asked)["tool_result"]
        return result

    narrow = signed_in(server, guarded_url)
    refused = calling("change", narrow)
    assert refused["is_error"]
    assert "HTTP 403" in refused["text"]
    assert "needs the scope `write`" in refused["text"]
    assert "you are in" in calling("whoami", narrow)["text"]

    wide = signed_in(server, guarded_url, authentication={"scopes": ["write"]})
    assert calling("change", wide) == {"is_error": False, "text": "changed"}


def test_a_token_that_has_expired_is_renewed(server: AgentServer, guarded_url: str):
    candidate = {"type": "http", "url": guarded_url, "auth": {"strategy": "oauth2"}}
    started = server.call("POST", "/api/mcp/oauth/start", json={"server": candidate})
    job = started["job_id"]
    there = httpx.get(started["authorization_url"], timeout=PATIENCE_SECONDS)
    server.call("POST", f"/api/mcp/oauth/callback/{job}", json={"callback_url": there.headers["location"]})
    wait_until(lambda: server.call("GET", f"/api/mcp/oauth/status/{job}")["status"] == "succeeded")
    state = server.call("GET", f"/api/mcp/oauth/status/{job}")["oauth_state"]

    old = {**state, "token_expires_at": 1.0}
    result = try_out(server, {**candidate, "auth": {"strategy": "oauth2", "state": old}})

    assert result["ok"] is True, result
    assert result["oauth_state"]["tokens"]["access_token"] != state["tokens"]["access_token"]


def test_an_invalid_answer_is_refused(server: AgentServer, guarded_url: str):
    candidate = {"type": "http", "url": guarded_url, "auth": {"strategy": "oauth2"}}
    job = server.call("POST", "/api/mcp/oauth/start", json={"server": candidate})["job_id"]

    with server.http as http:
        missing = http.post("/api/mcp/oauth/callback/nobody", json={"callback_url": "http://x/?code=1"})
        empty = http.post(f"/api/mcp/oauth/callback/{job}", json={"callback_url": "http://x/"})
        denied = http.post(f"/api/mcp/oauth/callback/{job}", json={"callback_url": "http://x/?error=denied"})
        forged = http.post(
            f"/api/mcp/oauth/callback/{job}", json={"callback_url": "http://x/?code=a&state=b"}
        )

    assert (missing.status_code, empty.status_code, denied.status_code) == (404, 400, 400)
    assert "denied" in denied.json()["detail"]
    assert forged.status_code == 200
    wait_until(lambda: server.call("GET", f"/api/mcp/oauth/status/{job}")["status"] == "failed")
