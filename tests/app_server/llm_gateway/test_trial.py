"""Tests of trying out a profile: the app server calls the model and reports what it can do."""

from typing import Any

import httpx
import pytest

from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, Turn, call, cut, fail, say

PROFILES = "/api/v1/settings/profiles"


async def tried(
    client: httpx.AsyncClient, vendor: ScriptedLLM, *turns: Turn, **llm: object
) -> httpx.Response:
    settings = {"model": "openai/gpt-5", "base_url": vendor.base_url, "api_key": vendor.api_key, **llm}
    saved = await client.post(f"{PROFILES}/mine", json={"llm": settings})
    assert saved.status_code == 201, saved.text
    vendor.script(*turns)
    return await client.post(f"{PROFILES}/mine/test")


async def test_a_trial_says_what_works_and_what_it_cost(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    turn = call("report_colour", colour="red", thought="Here.")
    long = (say("OK", prompt_tokens=5000), say("OK", prompt_tokens=5000, cached_tokens=4992))
    reply = await tried(client, scripted_llm, turn, *long, reasoning_effort="low")
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    assert result.pop("seconds") >= 0
    assert result == {
        "answers": True,
        "tool_calls": "native",
        "native_tool_calling": True,
        "streams": True,
        "reasons": False,
        "images": True,
        "caching": True,
        "caching_skipped": None,
        "cached_tokens": 4992,
        "prompt_tokens": 10100,
        "completion_tokens": 30,
        "cost": pytest.approx((10100 - 4992) * 1.25e-6 + 4992 * 1.25e-7 + 30 * 1e-5),
        "refusal": None,
    }
    asked, filled, repeated = scripted_llm.requests
    assert filled.body == repeated.body
    assert filled.body["prompt_cache_key"] in filled.messages[0]["content"]
    assert len(filled.messages[0]["content"]) > 4 * 4096
    assert asked.body["reasoning_effort"] == "low"
    assert asked.messages[0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


async def test_a_model_that_takes_no_images_is_sent_none(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    turns = (say("Blue."), say("It is blue."), *[say("OK")] * 3)
    result = (await tried(client, scripted_llm, *turns, model="openai/of-this-test")).json()
    assert (result["answers"], result["tool_calls"], result["images"]) == (True, "none", None)
    assert result["cost"] is None
    # The catalogue does not say whether the model caches prompts, so the trial tests it.
    assert (result["caching"], result["caching_skipped"]) == (False, None)
    assert isinstance(scripted_llm.requests[0].messages[0]["content"], str)


IN_TEXT = say("<function=report_colour>\n<parameter=colour>blue</parameter>\n</function>")
HIT = say("OK", cached_tokens=90)


@pytest.mark.parametrize(
    ("setting", "turns", "has_tools", "refusal"),
    [
        # The server does not recognise its model's tool calls, which stay in the text.
        (None, [IN_TEXT, HIT], [True, True], None),
        # The small model calls tools only if the prompt describes them.
        (None, [say("Blue."), IN_TEXT, HIT], [True, False, False], None),
        # The server refuses requests with tools.
        (
            None,
            [fail(400, error="no tools"), IN_TEXT, HIT],
            [True, False, False],
            "HTTP 400: no tools",
        ),
        (False, [IN_TEXT, HIT], [False, False], None),
    ],
)
async def test_calls_in_the_text_are_told_from_native_ones(
    client: httpx.AsyncClient,
    scripted_llm: ScriptedLLM,
    setting: bool | None,
    turns: list[Turn],
    has_tools: list[bool],
    refusal: str | None,
) -> None:
    llm = {"model": "openai/of-this-test", "native_tool_calling": setting}
    result = (await tried(client, scripted_llm, *turns, **llm)).json()
    assert (result["answers"], result["tool_calls"], result["caching"]) == (True, "in_text", True)
    assert (result["native_tool_calling"], result["refusal"]) == (setting is not False, refusal)
    assert ["tools" in asked.body for asked in scripted_llm.requests] == has_tools
    described = [asked for asked in scripted_llm.requests if "report_colour" in asked.messages[0]["content"]]
    assert all("tools" not in asked.body for asked in described[1:])


async def test_a_refused_image_is_told_and_the_rest_is_tried_without_it(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    hit = say("OK", cached_tokens=90)
    turns = (fail(400, error="no images here"), call("report_colour", colour="blue"), say("OK"), hit)
    result = (await tried(client, scripted_llm, *turns)).json()
    assert (result["images"], result["tool_calls"]) == (False, "native")
    assert result["refusal"] == "HTTP 400: no images here"


async def test_a_cache_that_fills_late_is_found_and_a_refused_long_prompt_is_told(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    answer = call("report_colour", colour="red")
    late = (answer, say("OK"), say("OK"), say("OK", cached_tokens=90))
    assert (await tried(client, scripted_llm, *late)).json()["caching"] is True
    result = (await tried(client, scripted_llm, answer, fail(400, error="too long"))).json()
    assert (result["tool_calls"], result["caching"], result["refusal"]) == (
        "native",
        False,
        "HTTP 400: too long",
    )


async def test_a_model_that_speaks_only_responses_and_does_not_cache(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    turn = call("report_colour", colour="red")
    result = (await tried(client, scripted_llm, turn, model="openai/gpt-5-pro")).json()
    assert (result["answers"], result["streams"], result["images"]) == (True, True, True)
    assert (result["caching"], result["caching_skipped"]) == (None, "no_cache")
    assert [asked.route for asked in scripted_llm.requests] == ["/v1/responses"]


async def test_a_vendor_that_refuses_is_quoted_without_the_key(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    refusal = fail(401, error=f"bad key {scripted_llm.api_key}")
    result = (await tried(client, scripted_llm, refusal)).json()
    assert (result["answers"], result["streams"], result["images"]) == (False, False, False)
    assert result["refusal"] == "HTTP 401: bad key [key]"
    assert (result["caching"], result["caching_skipped"]) == (None, "no_answer")
    assert len(scripted_llm.requests) == 1


async def test_a_model_that_cannot_be_reached_is_a_problem_with_a_fix(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await tried(client, scripted_llm, say("x"), say("OK", cached_tokens=90))
    reply = await tried(client, scripted_llm, cut(say("half of a sentence"), after=1))
    assert_problem(reply, 502, "llm_vendor_silent")
    assert_problem(await client.post(f"{PROFILES}/demo/test"), 400, "llm_profile_recorded")
    assert_problem(await client.post(f"{PROFILES}/nothing/test"), 404, "llm_profile_not_found")


async def test_a_trial_counts_for_what_its_user_may_spend(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    turns = (call("report_colour", colour="red"), say("OK", cached_tokens=90))
    await tried(client, scripted_llm, *turns, input_cost_per_token=0.01)
    await client.put("/api/v1/settings/spending-limit", json={"limit": 0.5, "period": "month"})
    assert_problem(await client.post(f"{PROFILES}/mine/test"), 402, "llm_spending_limit_reached")
