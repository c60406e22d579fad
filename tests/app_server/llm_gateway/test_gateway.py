"""Tests of a model call on its complete way: from a sandbox with its session key, through the gateway, to a
vendor on loopback.
"""

import json
import socket
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app_server.conversations.models import Conversation
from app_server.llm_gateway.forwarding.recorded_model import load_recording
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, cut, fail, say

VENDOR = "/llm/vendor/v1/chat/completions"
DEMO = "/llm/demo/v1/chat/completions"
ASK = {"model": "ignored", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def sandbox(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the inner app with a sandbox's session key, as an agent server has it."""
    key, conversation_id = new_token(), uuid4()
    async with app.database.session() as session:
        conversation = Conversation(
            id=conversation_id,
            user_id=owner.id,
            llm_profile="demo",
            last_seq=0,
            working_dir="/workspace/project/voyage",
        )
        row = Sandbox(
            id=conversation_id,
            user_id=owner.id,
            status=SandboxStatus.PAUSED,
            session_key_hash=token_hash(key),
            encrypted_session_key=app.state["cipher"].encrypt(key),
            spec_id="process",
        )
        session.add_all([conversation, row])
    async with http_client(app.inner, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
async def vendor(app: App, owner: User, scripted_llm: ScriptedLLM) -> ScriptedLLM:
    """Returns a scripted vendor on loopback. The owner's profile `vendor` uses it."""
    await _save(
        app,
        owner,
        model="openai/vendor-model",
        base_url=scripted_llm.base_url,
        api_key=scripted_llm.api_key,
    )
    return scripted_llm


async def _save(app: App, owner: User, **llm: Any) -> None:
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))


def _chunks(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def _joined(chunks: list[dict[str, Any]], field: str) -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get(field) or "" for delta in deltas)


async def test_the_key_is_added_and_the_model_is_the_profiles(
    sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    vendor.script(say("hi"))
    reply = await sandbox.post(VENDOR, json={**ASK, "temperature": 0.5, "min_p": 0.1})
    assert reply.json()["choices"][0]["message"]["content"] == "hi"
    asked = vendor.requests[0]
    assert asked.bearer == vendor.api_key
    assert asked.body == {**ASK, "model": "vendor-model", "temperature": 0.5, "min_p": 0.1}
    assert sandbox.headers["Authorization"] not in asked.headers.values()
    assert "cookie" not in asked.headers


async def test_a_stream_passes_straight_through(sandbox: httpx.AsyncClient, vendor: ScriptedLLM) -> None:
    vendor.script(call("terminal", command="ls", thought="Let me look around."))
    reply = await sandbox.post(VENDOR, json={**ASK, "stream": True})
    assert reply.headers["content-type"] == "text/event-stream"
    chunks = _chunks(reply.text)
    assert _joined(chunks, "content") == "Let me look around."
    *_, last, usage = chunks
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"]["completion_tokens"] > 0


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_refusal_keeps_its_status_and_loses_our_key(
    sandbox: httpx.AsyncClient, vendor: ScriptedLLM, status: int
) -> None:
    vendor.script(fail(status, error=f"no, {vendor.api_key}", retry_after=7))
    reply = await sandbox.post(VENDOR, json=ASK)
    assert reply.status_code == status
    assert reply.json()["error"]["message"] == "no, [key]"
    assert reply.headers["retry-after"] == "7"


async def test_a_vendor_that_cannot_be_reached_is_named(
    app: App, owner: User, sandbox: httpx.AsyncClient, unused_port: int
) -> None:
    await _save(app, owner, model="openai/x", base_url=f"http://127.0.0.1:{unused_port}", api_key="sk-canary")
    reply = await sandbox.post(VENDOR, json=ASK)
    assert_problem(reply, 502, "llm_vendor_unreachable")
    assert "sk-canary" not in reply.text


@pytest.mark.parametrize("status", [200, 404])
async def test_an_address_with_a_web_site_is_named(
    app: App, owner: User, sandbox: httpx.AsyncClient, status: int
) -> None:
    async def site(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"<h1>Welcome</h1>"})

    async with listening(site) as url:
        await _save(app, owner, model="openai/x", base_url=url, api_key="sk-canary")
        reply = await sandbox.post(VENDOR, json=ASK)
    assert_problem(reply, 502, "llm_base_url_wrong")
    assert url.removeprefix("http://") in reply.json()["detail"]


async def test_a_stream_that_breaks_off_does_not_look_finished(
    app: App, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    vendor.script(cut(say("half of a sentence that goes on"), after=2))
    ask = {**ASK, "stream": True}
    async with (
        listening(app.inner) as url,
        httpx.AsyncClient(base_url=url, headers=sandbox.headers, timeout=PATIENCE_SECONDS) as real,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await real.post(VENDOR, json=ask)


async def test_only_a_sandbox_may_ask(app: App, inner: httpx.AsyncClient, vendor: ScriptedLLM) -> None:
    assert_problem(await inner.post(VENDOR, json=ASK), 401, "not_authenticated")
    async with http_client(app.inner, cookies={"slipway_session": "x"}) as browser:
        assert_problem(await browser.post(VENDOR, json=ASK), 401, "not_authenticated")
    async with http_client(app.inner, headers={"X-Session-API-Key": "made-up"}) as stranger:
        assert_problem(await stranger.post(VENDOR, json=ASK), 401, "not_authenticated")
    assert vendor.requests == []


async def test_a_users_key_opens_no_inner_route(app: App, client: httpx.AsyncClient) -> None:
    async with http_client(app.inner, headers=client.headers) as user:
        assert_problem(await user.post(DEMO, json=ASK), 401, "not_authenticated")
    assert_problem(await client.post(DEMO, json=ASK), 405, "method_not_allowed")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"a": NaN}', b'"\\ud800"'])
async def test_bad_bodies_are_refused(
    sandbox: httpx.AsyncClient, vendor: ScriptedLLM, content: bytes
) -> None:
    assert_problem(await sandbox.post(VENDOR, content=content), 400, "malformed_json")
    assert vendor.requests == []


async def test_an_unknown_profile_is_not_found(sandbox: httpx.AsyncClient) -> None:
    for name in ("nothing", "%00", "a%20b"):
        reply = await sandbox.post(f"/llm/{name}/v1/chat/completions", json=ASK)
        assert reply.status_code in {400, 404}
        assert reply.headers["content-type"] == "application/problem+json"


async def test_a_recording_streams_its_turns_in_order(sandbox: httpx.AsyncClient) -> None:
    recording = load_recording("fix-failing-test")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for turn in recording.turns[:3]:
        reply = await sandbox.post(DEMO, json={"messages": messages, "stream": True})
        chunks = _chunks(reply.text)
        assert _joined(chunks, "content") == turn.content
        assert _joined(chunks, "reasoning_content") == turn.reasoning
        assert chunks[-1]["choices"][0]["finish_reason"] == ("tool_calls" if turn.tool_calls else "stop")
        messages.append({"role": "assistant", "content": turn.content})


async def test_a_recording_knows_where_the_repository_lies(sandbox: httpx.AsyncClient) -> None:
    messages = [{"role": "assistant", "content": ""}] * 1
    reply = await sandbox.post(DEMO, json={"messages": messages})
    arguments = reply.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments)["path"].startswith("/workspace/project/voyage/")
    assert "{{" not in arguments


async def test_a_recording_streams_the_same_message_as_it_sends_whole(sandbox: httpx.AsyncClient) -> None:
    whole = (await sandbox.post(DEMO, json={"messages": []})).json()["choices"][0]["message"]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = _chunks((await sandbox.post(DEMO, json={"messages": [], **options})).text)
    calls = [call for chunk in chunks[:-1] for call in chunk["choices"][0]["delta"].get("tool_calls", [])]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert arguments == whole["tool_calls"][0]["function"]["arguments"]
    assert calls[0]["id"] == whole["tool_calls"][0]["id"]
    assert chunks[-1]["usage"]["total_tokens"] == 0


async def test_after_its_end_a_recording_says_so(sandbox: httpx.AsyncClient) -> None:
    messages = [{"role": "assistant", "content": ""}] * 50
    message = (await sandbox.post(DEMO, json={"messages": messages})).json()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": load_recording("fix-failing-test").after_end}
