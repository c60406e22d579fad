"""Tests of conversations with a model that is called through OpenAI's Responses API."""

import json

import pytest

from tests.agent_runtime.conversation.conftest import Conversations, Watch, kinds_of, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, calls, cut, raw, say

RESPONSES = {"api_mode": "responses"}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_task_goes_through_a_tool_to_its_finish(
    conversations: Conversations, scripted_llm: ScriptedLLM, stream: bool
):
    scripted_llm.script(
        call("terminal", command="echo he''llo", thought="Let me look."), call("finish", message="All done.")
    )
    conversation = conversations.create(llm={**RESPONSES, "stream": stream})
    conversation.send(user("Say hello."))

    await conversation.run()

    assert kinds_of(conversation)[2:] == ["ActionEvent", "ObservationEvent"] * 2
    assert conversation.state.final_response == "All done."
    first, second = scripted_llm.requests
    assert first.path.endswith("/v1/responses")
    assert first.body["store"] is False
    assert "software engineer" in first.body["instructions"]
    assert "terminal" in first.tool_names
    assert [item["type"] for item in second.items] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert second.items[2]["call_id"] == second.items[3]["call_id"]
    assert "hello" in second.items[3]["output"]


async def test_encrypted_reasoning_is_kept_and_sent_back_before_its_call(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    thinking = calls(
        ("think", {"thought": "1"}),
        ("think", {"thought": "2"}),
        reasoning="Hm.",
        encrypted_reasoning="s3cr3t",
    )
    scripted_llm.script(thinking, say("Done.", reasoning="Yes.", encrypted_reasoning="m0re"), say("Bye."))
    conversation = conversations.create(llm={**RESPONSES, "reasoning_summary": "auto"})
    conversation.send(user("Think."))
    await conversation.run()
    conversation.send(user("And?"))

    await conversation.run()

    first, second = of_kind(conversation, "ActionEvent")
    assert first["reasoning_content"] == "Hm."
    assert first["responses_reasoning_item"]["encrypted_content"] == "s3cr3t"
    assert first["tool_call"]["origin"] == "responses"
    assert "responses_reasoning_item" not in second
    assert scripted_llm.requests[0].body["include"] == ["reasoning.encrypted_content"]
    assert scripted_llm.requests[0].body["reasoning"] == {"summary": "auto"}
    items = scripted_llm.requests[2].items
    assert [item["type"] for item in items] == [
        *("message", "reasoning", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "reasoning", "message", "message"),
    ]
    assert items[1]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert items[1]["encrypted_content"] == "s3cr3t"
    assert items[2]["id"] == first["tool_call"]["responses_item_id"]
    assert items[6]["encrypted_content"] == "m0re"


async def test_a_conversation_can_go_on_through_chat_completions(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        calls(("think", {"thought": "x"}), reasoning="Hm.", encrypted_reasoning="e"),
        lambda _: raw(b'{"error": {"message": "overloaded"}}'),
        say("done"),
    )
    spare = {"model": "openai/other", "base_url": scripted_llm.base_url, "api_key": "sk"}
    fallback = {"fallback_llms": [spare]}
    conversation = conversations.create(llm={**RESPONSES, "num_retries": 0, "fallback_strategy": fallback})
    conversation.send(user("Go."))

    await conversation.run()

    last = scripted_llm.requests[-1]
    assert last.path.endswith("/chat/completions")
    assert "responses_" not in json.dumps(last.body)
    assert "reasoning_content" not in json.dumps(last.body)
    assert conversation.state.final_response == "done"


async def test_its_pieces_are_published_and_a_broken_stream_is_asked_for_again(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(cut(say("Half a sentence"), after=4), say("A whole one.", reasoning="Hm, yes."))
    conversation = conversations.create(llm=RESPONSES)
    watch = Watch(conversation)
    conversation.send(user("Speak."))

    await conversation.run()

    second = [frame for frame in watch.of_type("delta") if frame["attempt"] == 2]
    assert "".join(f["content"] for f in second if f["kind"] == "text") == "A whole one."
    assert "".join(f["content"] for f in second if f["kind"] == "reasoning") == "Hm, yes."
    assert [frame["reason"] for frame in watch.of_type("item_aborted")] == ["LLMConnectionError"]


async def test_what_it_used_is_counted(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        say("ok", prompt_tokens=70, completion_tokens=30, cached_tokens=20, reasoning_tokens=25)
    )
    conversation = conversations.create(llm=RESPONSES)
    conversation.send(user("Go."))

    await conversation.run()

    used = conversation.info().stats["usage_to_metrics"]["agent"]["accumulated_token_usage"]
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "reasoning_tokens")
    assert [used[name] for name in names] == [70, 30, 20, 25]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (
            {"type": "response.failed", "response": {"status": "failed", "error": {"message": "x"}}},
            "LLMServiceUnavailableError",
        ),
        (
            {"type": "error", "code": "context_length_exceeded", "message": "too long"},
            "LLMContextWindowError",
        ),
        ({"type": "error", "code": "insufficient_quota", "message": "pay"}, "LLMBudgetError"),
        (
            {
                "type": "response.incomplete",
                "response": {
                    "status": "incomplete",
                    "output": [],
                    "incomplete_details": {"reason": "content_filter"},
                },
            },
            "LLMContentPolicyError",
        ),
    ],
)
async def test_failures_within_a_stream_are_told_apart(
    conversations: Conversations, scripted_llm: ScriptedLLM, event: dict[str, object], code: str
):
    scripted_llm.script(raw(json.dumps(event).encode()))
    conversation = conversations.create(llm={**RESPONSES, "num_retries": 0})
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == code
