"""Trying a profile out: one real call, and what is told from it."""

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
    reply = await tried(client, scripted_llm, turn, reasoning_effort="low")
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    assert result.pop("seconds") >= 0
    assert result == {
        "answers": True,
        "calls_tools": True,
        "streams": True,
        "reasons": False,
        "images": True,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "cost": pytest.approx(100 * 1.25e-6 + 10 * 1e-5),
        "refusal": None,
    }
    (asked,) = scripted_llm.requests
    assert asked.body["reasoning_effort"] == "low"
    assert asked.messages[0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


async def test_a_model_that_takes_no_images_is_sent_none(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    result = (await tried(client, scripted_llm, say("Blue."), model="openai/of-this-test")).json()
    assert (result["answers"], result["calls_tools"], result["images"]) == (True, False, None)
    assert result["cost"] is None
    assert isinstance(scripted_llm.requests[0].messages[0]["content"], str)


async def test_a_refused_image_is_told_and_the_rest_is_tried_without_it(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    turns = (fail(400, error="no images here"), call("report_colour", colour="blue"))
    result = (await tried(client, scripted_llm, *turns)).json()
    assert (result["images"], result["calls_tools"]) == (False, True)
    assert result["refusal"] == "HTTP 400: no images here"


async def test_a_vendor_that_refuses_is_quoted_without_the_key(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    refusal = fail(401, error=f"bad key {scripted_llm.api_key}")
    result = (await tried(client, scripted_llm, refusal)).json()
    assert (result["answers"], result["streams"], result["images"]) == (False, False, False)
    assert result["refusal"] == "HTTP 401: bad key [key]"
    assert len(scripted_llm.requests) == 1


async def test_a_model_that_cannot_be_reached_is_a_problem_with_a_fix(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await tried(client, scripted_llm, say("x"))
    reply = await tried(client, scripted_llm, cut(say("half of a sentence"), after=1))
    assert_problem(reply, 502, "llm_vendor_silent")
    assert_problem(await client.post(f"{PROFILES}/demo/test"), 400, "llm_profile_recorded")
    assert_problem(await client.post(f"{PROFILES}/nothing/test"), 404, "llm_profile_not_found")


async def test_a_trial_counts_for_what_its_user_may_spend(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    await tried(client, scripted_llm, call("report_colour", colour="red"), input_cost_per_token=0.01)
    await client.put("/api/v1/settings/spending-limit", json={"limit": 0.5, "period": "month"})
    assert_problem(await client.post(f"{PROFILES}/mine/test"), 402, "llm_spending_limit_reached")
