"""Tests of OpenAI's Responses protocol through the gateway. The unmodified `openai` package sends the
requests, as a program in a sandbox does.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError

from app_server.conversations.models import Conversation
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.llm_gateway.limits.models import SpendingAccount
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.effective_values import effective
from app_server.settings.models import LLMProfile
from app_server.settings.options import ProfileOptions
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, call, fail, say

MILLION = 1_000_000
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
TALK: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]


class Program(NamedTuple):
    """A program in a sandbox. `http`: its HTTP client. `base_url`: the gateway's address for its
    conversation. `key`: the sandbox's session key.
    """

    http: httpx.AsyncClient
    base_url: str
    key: str

    @property
    def openai(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=self.base_url, api_key=self.key, http_client=self.http, max_retries=0)

    async def post(self, **body: Any) -> httpx.Response:
        return await self.http.post(f"{self.base_url}/responses", json={"input": "hello", **body})


@pytest.fixture
async def conversation_id(app: App, owner: User, scripted_llm: ScriptedLLM) -> UUID:
    """Returns the id of a conversation. In its profile, each token of a reply costs one dollar."""
    found = uuid4()
    async with app.database.session() as session:
        session.add(Conversation(id=found, user_id=owner.id, llm_profile="vendor", last_seq=0))
    await _save(app, owner, scripted_llm, "openai/gpt-5-pro")
    return found


@pytest.fixture
async def program(app: App, owner: User, conversation_id: UUID) -> AsyncIterator[Program]:
    key = new_token()
    async with app.database.session() as session:
        session.add(
            Sandbox(
                id=conversation_id,
                user_id=owner.id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash(key),
                encrypted_session_key=app.state["cipher"].encrypt(key),
                spec_id="process",
            )
        )
    proof = proof_of(app.state["cipher"], conversation_id)
    async with http_client(app.inner, headers={"Authorization": f"Bearer {key}"}) as http:
        url = f"http://localhost:3000/llm/vendor/conversations/{conversation_id.hex}/{proof}/v1"
        yield Program(http, url, key)


async def _save(app: App, owner: User, vendor: ScriptedLLM, model: str) -> None:
    llm = {
        "model": model,
        "base_url": vendor.base_url,
        "api_key": vendor.api_key,
        "input_cost_per_token": 0,
        "output_cost_per_token": 1,
    }
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))


async def _is_spent(app: App, account_id: UUID, dollars: int) -> bool:
    async with app.database.read() as session:
        account = await session.get(SpendingAccount, account_id)
    return account is not None and account.spent == dollars * MILLION


async def test_the_package_of_openai_calls_a_tool_and_sends_encrypted_reasoning_back(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("look", at="it", thought="Let me look."), say("seen"))
    first = await program.openai.responses.create(
        model="any", input=TALK, tools=[TOOL], include=["reasoning.encrypted_content"]
    )
    asked = next(item for item in first.output if item.type == "function_call")
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b64=="}
    output = {"type": "function_call_output", "call_id": asked.call_id, "output": "a boat"}
    sent = [*TALK, reasoning, asked.to_dict(), output]
    second = await program.openai.responses.create(model="any", input=sent, tools=[TOOL])

    assert (first.output_text, asked.name, second.output_text) == ("Let me look.", "look", "seen")
    one, two = scripted_llm.requests
    assert one.bearer == scripted_llm.api_key
    assert (one.body["model"], one.body["store"], one.body["tools"]) == ("gpt-5-pro", False, [TOOL])
    assert two.body["input"] == sent
    assert program.key not in str(one.headers)


async def test_a_stream_passes_and_its_tokens_are_paid_for(
    app: App, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(say("in pieces", completion_tokens=7), say("in one", completion_tokens=5))
    stream = await program.openai.responses.create(model="any", input=TALK, stream=True)
    pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
    assert "".join(pieces) == "in pieces"
    assert (await program.openai.responses.create(model="any", input="hello")).output_text == "in one"
    await eventually(lambda: _is_spent(app, conversation_id, 12))


async def test_a_refusal_of_the_vendor_loses_our_key(program: Program, scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(fail(400, error=f"no, {scripted_llm.api_key}"))
    with pytest.raises(BadRequestError, match=r"no, \[key\]"):
        await program.openai.responses.create(model="any", input=TALK)


STORED_OR_RUN_THERE: list[tuple[dict[str, Any], str]] = [
    ({"previous_response_id": "resp_of_another"}, "unknown_model_field"),
    ({"conversation": "conv_of_another"}, "unknown_model_field"),
    ({"prompt": {"id": "pmpt_1"}}, "unknown_model_field"),
    ({"background": True}, "unknown_model_field"),
    ({"tools": [{"type": "function", "name": "x", "server_url": "http://x"}]}, "unknown_model_field"),
    ({"tools": [{"type": "web_search", "name": "x"}]}, "validation_failed"),
    ({"store": True}, "validation_failed"),
    ({"include": ["file_search_call.results"]}, "validation_failed"),
    ({"input": [{"type": "item_reference", "id": "msg_of_another"}]}, "unknown_model_input"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
        "unknown_model_input",
    ),
    (
        {"input": [{"type": "function_call_output", "call_id": "c", "output": [{"file_id": "f"}]}]},
        "unknown_model_input",
    ),
]


async def test_nothing_that_is_stored_or_run_at_the_vendor_is_reached(
    program: Program, scripted_llm: ScriptedLLM
) -> None:
    for body, code in STORED_OR_RUN_THERE:
        assert_problem(await program.post(**body), 422 if code == "validation_failed" else 400, code)
    assert scripted_llm.requests == []


async def test_a_model_with_another_protocol_is_refused(
    app: App, owner: User, program: Program, scripted_llm: ScriptedLLM
) -> None:
    for model in ("anthropic/claude-sonnet-4-5", "deepseek/deepseek-chat"):
        await _save(app, owner, scripted_llm, model)
        assert_problem(await program.post(), 400, "model_protocol_unsupported")
    assert scripted_llm.requests == []


async def test_a_server_of_the_users_with_an_unknown_model_is_tried(
    app: App, owner: User, program: Program, scripted_llm: ScriptedLLM
) -> None:
    await _save(app, owner, scripted_llm, "openai/of-this-test")
    scripted_llm.script(say("hi"))
    assert (await program.openai.responses.create(model="any", input=TALK)).output_text == "hi"


async def test_an_address_with_a_wrong_proof_is_refused_where_several_work(
    app: App, owner: User, program: Program, conversation_id: UUID, scripted_llm: ScriptedLLM
) -> None:
    async with app.database.session() as session:
        other = {"id": uuid4(), "sandbox_id": conversation_id, "llm_profile": "vendor", "last_seq": 0}
        session.add(Conversation(user_id=owner.id, **other))
    proof = program.base_url.split("/")[-2]
    url = program.base_url.replace(proof, "0" * len(proof))
    reply = await program._replace(base_url=url).post()
    assert_problem(reply, 403, "conversation_proof_missing")
    assert scripted_llm.requests == []


@pytest.mark.parametrize(
    ("model", "base_url", "extra_body", "through_responses"),
    [
        ("openai/gpt-5-pro", "http://mine.test/v1", {}, True),
        ("openai/gpt-5-pro", None, {"service_tier": "flex"}, True),
        ("openai/gpt-5.2", None, {}, True),
        ("openai/gpt-5.2", "https://api.openai.com/v1/", {}, True),
        ("openai/gpt-5.2", None, {"verbosity": "low"}, False),
        ("openai/gpt-5.2", "http://mine.test/v1", {}, False),
        ("openai/gpt-4o", None, {}, False),
        ("openrouter/openai/gpt-5-pro", None, {}, False),
        ("anthropic/claude-sonnet-4-5", None, {}, False),
    ],
)
def test_agents_ask_through_responses_where_that_is_better_or_all_there_is(
    model: str, base_url: str | None, extra_body: dict[str, Any], through_responses: bool
) -> None:
    options = ProfileOptions(extra_body=extra_body).model_dump()
    profile = LLMProfile(name="p", model=model, base_url=base_url, options=options)
    assert effective(profile).capabilities["supports_responses_api"] is through_responses
