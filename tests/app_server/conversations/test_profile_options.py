"""Tests of profile options: the vendor gets the values of the profile. The sandbox does not get values that
only the app server needs.
"""

from typing import Any

from sqlalchemy import select

from app_server.settings.models import LLMProfile
from tests.app_server.conversations.conftest import Home
from tests.app_server.eventually import eventually
from tests.support.scripted_llm import ScriptedLLM, calls, fail, say

CANARY = "hdr-canary-5d0e"
SENT = {"reasoning_effort": "low", "temperature": 0.25, "top_p": 0.5, "max_output_tokens": 777}


async def test_what_a_profile_sets_is_in_the_request_that_its_vendor_gets(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {
        "model": "openai/of-this-test",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        **SENT,
        "timeout": 33,
        "extra_headers": {"X-Team": CANARY},
        "extra_body": {"min_p": 0.05, "top_k": 40},
    }
    saved = await home.client.post("/api/v1/settings/profiles/tuned", json={"llm": llm})
    assert saved.status_code == 201, saved.text
    scripted_llm.script(say("done"))
    message = {"role": "user", "content": [{"type": "text", "text": "Hello."}]}
    task = await home.ready(llm_profile="tuned", title="Tuned", initial_message=message)
    await scripted_llm.wait_for_requests(1)

    asked = scripted_llm.requests[0]
    assert asked.headers["x-team"] == CANARY
    expected = {**SENT, "min_p": 0.05, "top_k": 40}
    expected["max_tokens"] = expected.pop("max_output_tokens")
    assert expected.items() <= asked.body.items()

    log = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    assert CANARY not in log.text
    async with home.database.read() as session:
        row = (await session.scalars(select(LLMProfile).where(LLMProfile.name == "tuned"))).one()
    assert row.chosen.timeout == 33


async def test_a_model_that_stays_unavailable_is_replaced_by_the_fallback_and_the_log_says_so(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    address = {"base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    names = ["missing", "first", "demo", "second"]
    for name, fallbacks in (("first", names), ("second", [])):
        llm = {"model": f"openai/{name}", "fallbacks": fallbacks, **address}
        saved = await home.client.post(f"/api/v1/settings/profiles/{name}", json={"llm": llm})
        assert saved.status_code == 201, saved.text
        assert saved.json()["fallbacks"] == fallbacks
    scripted_llm.script(*[fail(503, retry_after=0)] * 3, say("done"))
    message = {"role": "user", "content": [{"type": "text", "text": "Hello."}]}
    task = await home.ready(llm_profile="first", title="Replaced", initial_message=message)
    await scripted_llm.wait_for_requests(4)

    assert [asked.body["model"] for asked in scripted_llm.requests] == ["first"] * 3 + ["second"]
    log = f"/api/v1/conversation/{task['id']}/events/search"
    told: list[Any] = []

    async def is_told() -> bool:
        events = (await home.client.get(log)).json()["items"]
        values = [one["value"] for one in events if one.get("key") == "agent_state"]
        told[:] = [value["llm_fallback"] for value in values if "llm_fallback" in value]
        return bool(told)

    await eventually(is_told)
    assert told[0]["model"] == "openai/second"
    assert [one["model"] for one in told[0]["passed_over"]] == ["openai/first"]


async def test_a_model_without_tool_calls_works_as_an_agent_with_calls_in_its_text(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {
        "model": "openai/of-this-test",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        "native_tool_calling": False,
    }
    saved = await home.client.post("/api/v1/settings/profiles/small", json={"llm": llm})
    assert saved.json()["native_tool_calling"] is False, saved.text
    scripted_llm.script(
        say("I count.\n<function=terminal>\n<parameter=command>echo $((6 * 7))</parameter>\n</function>"),
        say("<function=finish>\n<parameter=message>It is 42.</parameter>\n</function>"),
    )
    message = {"role": "user", "content": [{"type": "text", "text": "What is 6 times 7?"}]}
    task = await home.ready(llm_profile="small", title="Counted", initial_message=message)
    await scripted_llm.wait_for_requests(2)

    first, second = scripted_llm.requests
    assert "tools" not in first.body
    assert "## terminal" in str(first.messages[0]["content"])
    assert first.body["stop"] == ["\nEXECUTION RESULT of ["]
    result = second.messages[-1]
    assert result["role"] == "user"
    assert "EXECUTION RESULT of [terminal]" in str(result["content"])
    assert "42" in str(result["content"])

    async def is_finished() -> bool:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(is_finished)


async def test_a_model_that_speaks_only_responses_keeps_its_encrypted_reasoning(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {
        "model": "openai/gpt-5-pro",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    saved = await home.client.post("/api/v1/settings/profiles/pro", json={"llm": llm})
    assert saved.status_code == 201, saved.text
    looking = calls(("terminal", {"command": "pwd"}), reasoning="Hm.", encrypted_reasoning="s3aled")
    scripted_llm.script(looking, say("done"))
    message = {"role": "user", "content": [{"type": "text", "text": "Where are you?"}]}
    await home.ready(llm_profile="pro", title="Encrypted", initial_message=message)
    await scripted_llm.wait_for_requests(2)

    first, second = scripted_llm.requests
    assert first.path.endswith("/v1/responses")
    assert (first.body["store"], first.body["include"]) == (False, ["reasoning.encrypted_content"])
    kept = [item for item in second.items if item["type"] == "reasoning"]
    assert [item["encrypted_content"] for item in kept] == ["s3aled"]
