"""Tests of models that fail: waiting and retrying, asking other models, stopping, and the cost of all
requests.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agent_runtime.events.content import ImageContent
from agent_runtime.events.message import Message
from agent_runtime.llm.config import LLM
from agent_runtime.vendors import UNREACHABLE
from tests.agent_runtime.conversation.conftest import Conversations, Watch, events_of, of_kind, user
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, Turn, calls, fail, raw, say


def spare(llm: ScriptedLLM, name: str = "spare", **fields: Any) -> dict[str, Any]:
    return {
        "model": f"openai/{name}",
        "base_url": llm.base_url,
        "api_key": "sk-2",
        "num_retries": 0,
        **fields,
    }


async def test_each_retry_is_told_with_its_reason_and_its_wait(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(429, error="slow down", retry_after=0.2), fail(503), say("ok"))
    conversation = conversations.create(llm={"num_retries": 2})
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    first, second = watch.of_type("item_aborted")
    assert first["reason"] == "LLMRateLimitError"
    assert "slow down" in first["retry"].pop("detail")
    assert first["retry"] == {
        "code": "LLMRateLimitError",
        "model": "openai/scripted",
        "wait_seconds": 0.2,
        "next_attempt": 2,
        "max_attempts": 3,
    }
    assert (second["retry"]["next_attempt"], second["retry"]["max_attempts"]) == (3, 3)
    assert conversation.state.final_response == "ok"


async def test_a_vendor_that_cannot_be_reached_is_called_four_times_as_announced(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(*[fail(502, error=f"vendor.test cannot be reached. ({UNREACHABLE})")] * 4)
    conversation = conversations.create(llm={"num_retries": 9})
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    retries = [one["retry"] for one in watch.of_type("item_aborted") if one.get("retry")]
    assert [(one["next_attempt"], one["max_attempts"]) for one in retries] == [(2, 4), (3, 4), (4, 4)]


async def test_the_date_to_wait_for_is_understood(conversations: Conversations, scripted_llm: ScriptedLLM):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    scripted_llm.script(Turn(status=429, error="later", headers=(("Retry-After", soon),)), say("ok"))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))

    await conversation.run()

    assert 0 <= watch.of_type("item_aborted")[0]["retry"]["wait_seconds"] <= 1


async def test_a_vendor_that_asks_to_wait_for_an_hour_is_not_waited_for(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(429, retry_after=3600))
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "LLMRateLimitError"
    assert "3600" in error["detail"]


async def test_a_wait_can_be_interrupted(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(fail(429, retry_after=200))
    conversation = conversations.create()
    watch = Watch(conversation)
    conversation.send(user("Go."))
    conversation.start()
    await watch.until(lambda frame: frame["type"] == "item_aborted")

    async with asyncio.timeout(PATIENCE_SECONDS):
        await conversation.interrupt()

    assert conversation.status == "paused"
    assert watch.of_type("item_aborted")[-1] == {
        "type": "item_aborted",
        "attempt": 1,
        "reason": "cancelled",
        "item_id": watch.of_type("item_aborted")[0]["item_id"],
    }


async def test_others_are_asked_in_order_and_the_log_says_so(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(503), fail(529), say("I stood in."), say("I am back."))
    strategy = {"fallback_llms": [spare(scripted_llm, "one"), spare(scripted_llm, "two", usage_id="two")]}
    conversation = conversations.create(llm={"num_retries": 0, "fallback_strategy": strategy})
    watch = Watch(conversation)
    conversation.send(user("Go."))
    await conversation.run()
    conversation.send(user("Again."))

    await conversation.run()

    assert [request.body["model"] for request in scripted_llm.requests] == [
        "scripted",
        "one",
        "two",
        "scripted",
    ]
    assert scripted_llm.requests[2].bearer == "sk-2"
    (notice,) = [event for event in events_of(conversation) if event.get("key") == "agent_state"]
    assert notice["value"]["llm_fallback"]["model"] == "openai/two"
    assert [p["model"] for p in notice["value"]["llm_fallback"]["passed_over"]] == [
        "openai/scripted",
        "openai/one",
    ]
    assert [f["retry"]["model"] for f in watch.of_type("item_aborted")] == ["openai/one", "openai/two"]
    assert set(conversation.info().stats["usage_to_metrics"]) == {"two", "agent"}


async def test_a_wrong_key_is_no_reason_to_ask_others(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(fail(401))
    strategy = {"fallback_llms": [spare(scripted_llm)]}
    conversation = conversations.create(llm={"fallback_strategy": strategy})
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "LLMAuthenticationError"
    assert len(scripted_llm.requests) == 1


@pytest.mark.parametrize(
    ("turn", "code", "kind"),
    [
        (fail(429, error="You exceeded your current quota"), "LLMBudgetError", "quota"),
        (fail(400, error="blocked by our content policy"), "LLMContentPolicyError", "agent_action"),
        (fail(400, error="prompt is too long: 9 tokens > 8"), "LLMContextWindowError", "agent_action"),
        (fail(422, error="unknown field"), "LLMBadRequestError", "config"),
        (raw(b'{"error": {"message": "no funds", "code": 402}}'), "LLMBudgetError", "quota"),
        (say("", finish_reason="content_filter"), "LLMContentPolicyError", "agent_action"),
    ],
)
async def test_what_asking_again_cannot_help_ends_the_run_at_once(
    conversations: Conversations, scripted_llm: ScriptedLLM, turn: Turn, code: str, kind: str
):
    scripted_llm.script(turn)
    conversation = conversations.create()
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert (error["code"], error["classification"]["kind"]) == (code, kind)
    assert len(scripted_llm.requests) == 1


async def test_routes_choose_the_model_of_a_call(conversations: Conversations, scripted_llm: ScriptedLLM):
    seeing = spare(scripted_llm, "gpt-4o")
    routes = [
        {"llm": spare(scripted_llm, "never"), "role": "condenser"},
        {"llm": spare(scripted_llm, "careful"), "pattern": r"(?i)\bsecurity\b"},
        {"llm": seeing, "has_images": True},
    ]
    scripted_llm.fallback = say("ok")
    conversation = conversations.create(llm={"routes": routes})
    looks = Message(role="user", content=[ImageContent(image_urls=["data:image/png;base64,AA"])])

    for message in (user("Hello."), user("Check the security."), looks):
        conversation.send(message)
        await conversation.run()

    assert [request.body["model"] for request in scripted_llm.requests] == ["scripted", "careful", "gpt-4o"]


def test_keys_of_other_models_are_as_hidden_as_the_first():
    other = {"model": "x", "api_key": "canary"}
    llm = LLM.model_validate(
        {"model": "y", "fallback_strategy": {"fallback_llms": [other]}, "routes": [{"llm": other}]}
    )

    assert "canary" not in repr(llm)
    assert "canary" not in llm.model_dump_json()


async def test_a_listed_model_costs_what_the_list_says_to_the_token(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        say("ok", prompt_tokens=1000, cached_tokens=400, completion_tokens=50, reasoning_tokens=30)
    )
    conversation = conversations.create(llm={"model": "openai/alias", "model_canonical_name": "gpt-4.1"})
    conversation.send(user("Go."))

    await conversation.run()

    metrics = conversation.info().stats["usage_to_metrics"]["agent"]
    assert metrics["accumulated_cost"] == pytest.approx(600 * 2e-6 + 400 * 0.5e-6 + 50 * 8e-6)
    assert metrics["accumulated_token_usage"]["reasoning_tokens"] == 30
    assert metrics["accumulated_token_usage"]["context_window"] > 1_000_000


async def test_a_run_stops_at_its_budget_and_may_go_on_with_another(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = lambda request: calls(
        ("think", {"thought": str(len(request.messages))}), prompt_tokens=100, completion_tokens=0
    )
    conversation = conversations.create(
        llm={"input_cost_per_token": 0.01, "output_cost_per_token": 0, "max_budget_per_task": 2.5}
    )
    conversation.send(user("Go."))

    await conversation.run()

    (error,) = of_kind(conversation, "ConversationErrorEvent")
    assert error["code"] == "MaxBudgetReached"
    assert "$3.00" in error["detail"]
    assert "another budget" in error["detail"]
    assert error["classification"] == {"kind": "quota", "retryable": True, "user_action": "settings"}
    assert len(scripted_llm.requests) == 3
    metrics = conversation.info().stats["usage_to_metrics"]["agent"]
    assert metrics["max_budget_per_task"] == 2.5

    await conversation.run()

    assert len(scripted_llm.requests) == 6


async def test_a_budget_that_cannot_be_kept_is_said(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("ok"))
    conversation = conversations.create(llm={"max_budget_per_task": 1})
    conversation.send(user("Go."))

    await conversation.run()

    assert of_kind(conversation, "ConversationErrorEvent")[0]["code"] == "PriceUnknown"
