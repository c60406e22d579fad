"""Tests of programs in a sandbox that call the model of their conversation, with the unmodified packages of
OpenAI and Anthropic.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import anthropic
import httpx
import openai
import orjson
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from agent_runtime.secrets.masking import MASK, Masker
from agent_runtime.server.outgoing.git_relay import GitRelay
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.database import now
from app_server.llm_gateway.limits.models import SpendingAccount
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.eventually import eventually
from tests.support.scripted_llm import ScriptedLLM, call, calls, fail, say

MILLION = 1_000_000
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LOOK: Any = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
HELLO: Any = [{"role": "user", "content": "hello"}]


class Program(NamedTuple):
    """A program in a sandbox. `url`: where it calls models, at the relay of the agent server. `key`: its
    model key.
    """

    url: str
    key: str

    @property
    def openai(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0)

    @property
    def anthropic(self) -> AsyncAnthropic:
        return AsyncAnthropic(base_url=self.url, api_key=self.key, max_retries=0)


@pytest.fixture
async def conversation_id(app: App, owner: User, scripted_llm: ScriptedLLM) -> UUID:
    """Returns the id of a conversation. In its profile, each token of a reply costs one dollar."""
    found = uuid4()
    llm = {
        "model": "openai/some-model",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        "input_cost_per_token": 0,
        "output_cost_per_token": 1,
    }
    async with app.database.session() as session:
        session.add(Conversation(id=found, user_id=owner.id, llm_profile="vendor", last_seq=0))
        ready = {"status": StartStatus.READY, "request": {}, "stages": new_stages()}
        session.add(StartTask(id=found, user_id=owner.id, **ready))
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))
    return found


@pytest.fixture
async def model_key(client: httpx.AsyncClient, conversation_id: UUID) -> str:
    made = await client.post(f"/api/v1/app-conversations/{conversation_id.hex}/model-key", json={"hours": 1})
    assert made.status_code == 201, made.text
    key: str = made.json()["key"]
    assert f'ANTHROPIC_API_KEY="{key}"' in made.json()["shell"]
    return key


@pytest.fixture
async def program(app: App, owner: User, conversation_id: UUID, model_key: str) -> AsyncIterator[Program]:
    session_key = new_token()
    async with app.database.session() as session:
        session.add(
            Sandbox(
                id=conversation_id,
                user_id=owner.id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash(session_key),
                encrypted_session_key=app.state["cipher"].encrypt(session_key),
                spec_id="process",
            )
        )
    async with listening(app.inner) as inner:
        relay = GitRelay(f"{inner}/api/v1/webhooks", lambda: session_key)
        await relay.open(0)
        yield Program(relay.models_url, model_key)
        await relay.close()


async def _is_spent(app: App, account_id: UUID, dollars: int) -> bool:
    async with app.database.read() as session:
        account = await session.get(SpendingAccount, account_id)
    return account is not None and account.spent == dollars * MILLION


async def test_the_package_of_anthropic_calls_a_tool_and_shows_an_image(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("look", at="it", thought="Let me look."), say("seen", completion_tokens=7))
    first = await program.anthropic.messages.create(
        model="any", max_tokens=100, system="Be brief.", messages=HELLO, tools=[LOOK]
    )
    text, asked = first.content
    assert (text.type, asked.type, first.stop_reason) == ("text", "tool_use", "tool_use")
    assert asked.type == "tool_use"
    assert (asked.name, asked.input) == ("look", {"at": "it"})
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    result = {
        "type": "tool_result",
        "tool_use_id": asked.id,
        "content": [{"type": "text", "text": "a boat"}, {"type": "image", "source": source}],
    }
    talk = [*HELLO, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = await program.anthropic.messages.create(
        model="any", max_tokens=100, messages=talk, tools=[LOOK], tool_choice={"type": "any"}
    )
    assert second.content[0].type == "text"
    assert second.content[0].text == "seen"
    assert (second.stop_reason, second.usage.output_tokens) == ("end_turn", 7)
    one, two = (request.body for request in scripted_llm.requests)
    assert one["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (one["model"], one["max_tokens"]) == ("some-model", 100)
    assert one["tools"][0]["function"]["parameters"] == {"type": "object"}
    sent_call, sent_result, shown = two["messages"][1:]
    assert sent_call["tool_calls"][0]["id"] == asked.id
    assert sent_result == {"role": "tool", "tool_call_id": asked.id, "content": "a boat"}
    assert shown["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"
    assert two["tool_choice"] == "required"


async def test_secrets_of_the_conversation_do_not_reach_the_vendor(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    masker = Masker()
    masker.learn(["deploy-key-0451"])
    said = "The log says deploy-key-0451."
    messages: Any = [{"role": "user", "content": said}]
    scripted_llm.script(*(say("hidden") for _ in range(3)))
    await program.openai.chat.completions.create(model="any", messages=messages)
    await program.openai.responses.create(model="any", input=said)
    async with program.anthropic.messages.stream(model="any", max_tokens=9, messages=messages) as stream:
        assert (await stream.get_final_message()).content
    chat, responses, translated = (request.body for request in scripted_llm.requests)
    hidden = f"The log says {MASK}."
    assert chat["messages"] == translated["messages"] == [{"role": "user", "content": hidden}]
    assert responses["input"] == hidden


async def test_streams_of_anthropic_are_understood_and_paid_for(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("look", at="it", thought="Let me look."), say("in pieces", completion_tokens=7))
    async with program.anthropic.messages.stream(
        model="any", max_tokens=100, messages=HELLO, tools=[LOOK]
    ) as stream:
        first = await stream.get_final_message()
    assert [block.type for block in first.content] == ["text", "tool_use"]
    assert first.content[1].type == "tool_use"
    assert first.content[1].input == {"at": "it"}
    assert first.stop_reason == "tool_use"
    async with program.anthropic.messages.stream(model="any", max_tokens=100, messages=HELLO) as stream:
        assert "".join([text async for text in stream.text_stream]) == "in pieces"
        last = await stream.get_final_message()
    assert (last.stop_reason, last.usage.output_tokens) == ("end_turn", 7)
    spent = first.usage.output_tokens + 7
    await eventually(lambda: _is_spent(app, conversation_id, spent))


async def test_what_programs_use_stands_beside_what_the_agent_uses(
    app: App, client: httpx.AsyncClient, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    used = {"prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 7}
    scripted_llm.script(say("one", **used), say("two", **used), fail(400, error="no"))
    shown_at = f"/api/v1/app-conversations?ids={conversation_id.hex}"
    assert (await client.get(shown_at)).json()[0]["program_usage"] is None
    async with app.state["pubsub"].subscribe(conversation_id) as news:
        await program.openai.chat.completions.create(model="any", messages=HELLO)
        told = orjson.loads((await news.next()).text)
        assert told["type"] == "start_task"
        told = orjson.loads((await news.next()).text)
        assert told["conversation"]["program_usage"]["calls"] == 1
        async with program.anthropic.messages.stream(model="any", max_tokens=9, messages=HELLO) as stream:
            await stream.get_final_message()
        await news.next()
    with pytest.raises(openai.BadRequestError):
        await program.openai.chat.completions.create(model="any", messages=HELLO)
    shown = (await client.get(shown_at)).json()[0]
    assert shown["program_usage"] == {
        "calls": 2,
        "cost": 14.0,
        "prompt_tokens": 200,
        "completion_tokens": 14,
        "cache_read_tokens": 80,
        "cache_write_tokens": 0,
    }
    assert shown["metrics"] is None


async def test_a_call_that_was_cut_off_does_not_look_complete(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    cut_off = calls(("look", '{"at": "i'), finish_reason="length")
    scripted_llm.script(cut_off, cut_off)
    asked: Any = {"model": "any", "max_tokens": 9, "messages": HELLO, "tools": [LOOK]}
    whole = await program.anthropic.messages.create(**asked)
    pieces = await program.anthropic.messages.create(**asked, stream=True)
    reasons = [each.delta.stop_reason async for each in pieces if each.type == "message_delta"]
    assert [whole.stop_reason, *reasons] == ["max_tokens", "max_tokens"]


async def test_the_package_of_openai_works_in_both_protocols(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(*(say(text, completion_tokens=1) for text in ("one", "two", "three", "four")))
    chat, responses = program.openai.chat.completions, program.openai.responses
    whole = await chat.create(model="any", messages=HELLO)
    assert whole.choices[0].message.content == "one"
    chunks = [chunk async for chunk in await chat.create(model="any", messages=HELLO, stream=True)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "two"
    assert (await responses.create(model="any", input="hello")).output_text == "three"
    events = [event async for event in await responses.create(model="any", input="hello", stream=True)]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "four"
    await eventually(lambda: _is_spent(app, conversation_id, 4))
    for request in scripted_llm.requests:
        assert request.bearer == scripted_llm.api_key
        assert program.key not in str(request.headers)


async def test_both_packages_list_the_model_and_tokens_are_estimated(program: Program) -> None:
    assert [model.id async for model in program.openai.models.list()] == ["vendor"]
    listed = [model async for model in program.anthropic.models.list()]
    assert [(model.id, model.display_name) for model in listed] == [("vendor", "openai/some-model")]
    counted = await program.anthropic.messages.count_tokens(model="any", messages=HELLO)
    assert 5 < counted.input_tokens < 100
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL * 1000}
    picture: Any = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    counted = await program.anthropic.messages.count_tokens(model="any", messages=picture)
    assert 1600 < counted.input_tokens < 1700


PDF: Any = {
    "type": "document",
    "title": "a.pdf",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
}


async def test_documents_are_sent_as_the_model_takes_them_or_refused(
    app: App, owner: User, program: Program, scripted_llm: ScriptedLLM
) -> None:
    text = {"type": "text", "media_type": "text/plain", "data": "All of it."}
    plain: Any = {"type": "document", "source": text, "title": "Notes"}
    scripted_llm.script(say("read"), say("read"))
    messages, asked = program.anthropic.messages, {"model": "any", "max_tokens": 9}
    told: Any = [{"role": "user", "content": [plain]}]
    await messages.create(**asked, messages=told)
    refused: Any = [{"role": "user", "content": [PDF]}]
    with pytest.raises(anthropic.BadRequestError, match="no PDF"):
        await messages.create(**asked, messages=refused)
    with pytest.raises(anthropic.BadRequestError, match="no PDF"):
        await messages.count_tokens(model="any", messages=refused)
    cited: Any = [{"role": "user", "content": [{**plain, "citations": {"enabled": True}}]}]
    with pytest.raises(anthropic.BadRequestError, match="cite"):
        await messages.create(**asked, messages=cited)
    llm = {"model": "openai/gpt-5-mini", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))
    await messages.create(**asked, messages=refused)
    one, two = (request.body["messages"][0]["content"] for request in scripted_llm.requests)
    assert one == [{"type": "text", "text": "Notes\n\nAll of it."}]
    file = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert two == [{"type": "file", "file": file}]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "outside of the sandbox"),
    ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "outside of the sandbox"),
    ({"extra_body": {"mcp_servers": [{"type": "url", "url": "http://x", "name": "x"}]}}, "mcp_servers"),
    ({"extra_body": {"container": "c"}}, "container"),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "image", "source": {"type": "url", "url": "http://x/a.png"}}],
                }
            ]
        },
        "only as base64",
    ),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
async def test_what_leads_out_of_the_sandbox_is_refused_with_a_reason(
    program: Program, scripted_llm: ScriptedLLM, given: Any, reason: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=reason) as refused:
        await program.anthropic.messages.create(**{"model": "x", "max_tokens": 9, "messages": HELLO, **given})
    body: Any = refused.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert scripted_llm.requests == []


async def test_no_key_of_the_vendor_stands_in_a_refusal(program: Program, scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(*[fail(400, error=f"no, {scripted_llm.api_key}")] * 2)
    with pytest.raises(anthropic.BadRequestError, match=r"no, \[key\]"):
        await program.anthropic.messages.create(model="any", max_tokens=9, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError, match=r"no, \[key\]"):
        await program.anthropic.messages.create(model="any", max_tokens=9, messages=HELLO, stream=True)


async def test_the_key_ends_when_it_is_taken_away_or_replaced(
    client: httpx.AsyncClient, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    path = f"/api/v1/app-conversations/{conversation_id.hex}/model-key"
    assert (await client.get(path)).json()["expires_at"] is not None
    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).json() == {"expires_at": None}
    with pytest.raises(anthropic.AuthenticationError):
        await program.anthropic.messages.create(model="any", max_tokens=9, messages=HELLO)
    renewed = (await client.post(path, json={})).json()["key"]
    with pytest.raises(openai.AuthenticationError):
        await program.openai.chat.completions.create(model="any", messages=HELLO)
    scripted_llm.script(say("again"))
    again = await program._replace(key=renewed).openai.chat.completions.create(model="any", messages=HELLO)
    assert again.choices[0].message.content == "again"


async def test_the_key_ends_with_the_account(app: App, program: Program, owner: User) -> None:
    await program.openai.models.list()
    async with app.database.session() as session:
        (await session.get_one(User, owner.id)).disabled_at = now()
    with pytest.raises(openai.AuthenticationError):
        await program.openai.models.list()


async def test_the_key_alone_opens_nothing(app: App, program: Program, client: httpx.AsyncClient) -> None:
    async with http_client(app.inner, headers={"x-api-key": program.key}) as http:
        assert (await http.get("http://localhost:3000/programs/v1/models")).status_code == 401
    bearer = {"Authorization": f"Bearer {program.key}"}
    async with http_client(app.inner, headers=bearer) as http:
        assert (await http.get("http://localhost:3000/programs/v1/models")).status_code == 401


async def test_what_command_line_agents_send_for_themselves_is_left_out(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    """Claude Code also sends system messages between other messages, and `context_management`. Codex also
    sends groups of tools, and `client_metadata`. The gateway removes only `context_management` and
    `client_metadata`.
    """
    scripted_llm.script(say("one"), say("two"))
    told: Any = [*HELLO, {"role": "system", "content": [{"type": "text", "text": "It is late."}]}]
    of_claude = {"context_management": {"edits": []}, "thinking": {"type": "adaptive"}}
    await program.anthropic.messages.create(model="x", max_tokens=9, messages=told, extra_body=of_claude)
    look = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
    group: Any = {"type": "namespace", "name": "eyes", "description": "Sees.", "tools": [look]}
    metadata = {"client_metadata": {"session": "one"}}
    reasoning: Any = {"context": "all_turns", "summary": "auto"}
    await program.openai.responses.create(
        model="x", input="hello", tools=[group], reasoning=reasoning, extra_body=metadata
    )

    chat, response = (request.body for request in scripted_llm.requests)
    part = {"type": "text", "text": "It is late."}
    assert chat == {
        "model": "some-model",
        "messages": [*HELLO, {"role": "system", "content": [part]}],
        "max_tokens": 9,
    }
    assert response == {
        "model": "some-model",
        "input": "hello",
        "tools": [group],
        "reasoning": reasoning,
        "store": False,
    }
    search: Any = {**group, "tools": [{"type": "web_search", "name": "search"}]}
    with pytest.raises(openai.UnprocessableEntityError):
        await program.openai.responses.create(model="x", input="hello", tools=[search])
