"""Tests of an agent that is used through OpenAI's own Python client."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from openai import APIStatusError, NotFoundError, OpenAI

from tests.support.agent_server import KEY, AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, fail, say

HEADER = "X-OpenHands-ServerConversation-ID"


@pytest.fixture
def client(server: AgentServer, scripted_llm: ScriptedLLM) -> Iterator[OpenAI]:
    llm = {
        "model": "openai/scripted",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        "num_retries": 0,
        "stream": True,
    }
    server.call("POST", "/api/profiles/coder", json={"llm": llm})
    with OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def test_profiles_are_the_models(client: OpenAI):
    assert [model.id for model in client.models.list()] == ["coder"]


def test_an_answer_comes_after_the_agent_has_worked_and_the_conversation_goes_on(
    client: OpenAI, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("terminal", command="echo 4"), say("Four."), say("Five."))
    asked = client.chat.completions.with_raw_response.create(
        model="coder",
        messages=[
            {"role": "system", "content": "Answer in words."},
            {"role": "user", "content": "1+1?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": [{"type": "text", "text": "2+2?"}]},
        ],
    )
    first = asked.parse()
    again = client.chat.completions.create(
        model="coder",
        messages=[{"role": "user", "content": "And one more?"}],
        extra_headers={HEADER: asked.headers[HEADER]},
    )

    assert first.choices[0].message.content == "Four."
    assert first.usage
    assert first.usage.total_tokens == 220
    assert again.choices[0].message.content == "Five."
    assert again.usage
    assert again.usage.total_tokens == 110
    prompt = scripted_llm.requests[0].body["messages"]
    assert "Answer in words." in str(prompt[0])
    assert [message["role"] for message in prompt] == ["system", "user", "assistant", "user"]
    said = [message["content"] for message in scripted_llm.requests[2].body["messages"]]
    assert "Two." in str(said)
    assert "Four." in str(said)


def test_a_stream_has_the_way_as_reasoning_and_ends_in_the_answer(client: OpenAI, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command="true", thought="Let me look."), say("Done."))
    stream = client.chat.completions.create(
        model="coder",
        messages=[{"role": "user", "content": "Go."}],
        stream=True,
        stream_options={"include_usage": True},
    )

    chunks = list(stream)

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Done."
    way = "".join((delta.model_extra or {}).get("reasoning_content") or "" for delta in deltas)
    assert way.startswith("Let me look.")
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 220


def test_responses_go_on_from_one_another_streamed_or_not(client: OpenAI, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Four."), say("Five."))
    first = client.responses.create(model="coder", input="2+2?", instructions="Be brief.")
    with client.responses.stream(
        model="coder", input="And one more?", previous_response_id=first.id
    ) as stream:
        events = [event.type for event in stream]
        second = stream.get_final_response()

    assert (first.output_text, second.output_text) == ("Four.", "Five.")
    assert (events[0], events[-1]) == ("response.created", "response.completed")
    assert second.usage
    assert second.usage.total_tokens == 110
    assert "Be brief." in str(scripted_llm.requests[0].body["messages"][0])
    assert "Four." in str(scripted_llm.requests[1].body["messages"])


def test_a_failed_run_is_an_error_and_in_a_stream_its_last_word(client: OpenAI, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(401), fail(401))
    with pytest.raises(APIStatusError, match="LLMAuthenticationError") as refused:
        client.chat.completions.create(model="coder", messages=[{"role": "user", "content": "Go."}])
    assert refused.value.status_code == 502
    stream = client.chat.completions.create(
        model="coder", messages=[{"role": "user", "content": "Go."}], stream=True
    )
    with pytest.raises(Exception, match="LLMAuthenticationError"):
        list(stream)


def test_what_cannot_be_is_refused(client: OpenAI, server: AgentServer):
    with pytest.raises(APIStatusError, match="coder") as unknown:
        client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "Go."}])
    with pytest.raises(APIStatusError) as silent:
        client.chat.completions.create(model="coder", messages=[{"role": "assistant", "content": "Go."}])
    with pytest.raises(APIStatusError) as missing:
        client.responses.create(model="coder", input="x", previous_response_id="resp_nothing")
    with (
        OpenAI(base_url=f"{server.url}/v1", api_key="wrong") as stranger,
        pytest.raises(APIStatusError) as no,
    ):
        stranger.models.list()

    statuses = [error.value.status_code for error in (unknown, silent, missing, no)]
    assert statuses == [404, 422, 404, 401]


def test_a_model_and_a_response_can_be_asked_for_by_their_ids(client: OpenAI, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Four."), call("finish", message="Five."))
    first = client.responses.create(model="coder", input="2+2?")
    second = client.responses.create(model="coder", input="2+3?", previous_response_id=first.id)

    assert client.models.retrieve("coder").id == "coder"
    assert [client.responses.retrieve(one.id).output_text for one in (first, second)] == ["Four.", "Five."]
    assert client.responses.retrieve(first.id).id == first.id


def test_unknown_ids_of_models_and_responses_are_answered_with_problems(
    client: OpenAI, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Four."))
    known = client.responses.create(model="coder", input="2+2?").id
    with pytest.raises(NotFoundError) as no_model:
        client.models.retrieve("gpt")
    codes = [no_model.value.response.json()["code"]]
    for unknown in ("resp_nothing", f"resp_{uuid4().hex}_{uuid4().hex}", f"{known[:-32]}{uuid4().hex}"):
        with pytest.raises(NotFoundError) as no_response:
            client.responses.retrieve(unknown)
        codes.append(no_response.value.response.json()["code"])

    missing = ["conversation_not_found", "conversation_not_found", "response_not_found"]
    assert codes == ["model_not_found", *missing]
