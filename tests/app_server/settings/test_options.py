"""Tests of options of a model profile, such as the temperature: they are saved and shown, and refused if the
model does not support them.
"""

import httpx
import pytest
from sqlalchemy import select

from app_server.settings.models import LLMProfile
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem

PROFILES = "/api/v1/settings/profiles"
FACTS = "/api/v1/settings/model-facts"
CANARY = "hdr-canary-91c2"

OPTIONS = {
    "reasoning_effort": "high",
    "max_output_tokens": 9000,
    "max_input_tokens": 100_000,
    "timeout": 42.5,
    "supports_images": False,
    "native_tool_calling": False,
    "cache_read_cost_per_token": 1e-7,
    "extra_body": {"verbosity": "low"},
}


async def save(client: httpx.AsyncClient, model: str = "openai/gpt-5", **llm: object) -> httpx.Response:
    return await client.post(f"{PROFILES}/mine", json={"llm": {"model": model, **llm}})


async def test_options_are_kept_and_shown_and_left_out_ones_are_unset(client: httpx.AsyncClient) -> None:
    saved = await save(client, **OPTIONS)
    assert saved.status_code == 201, saved.text
    assert OPTIONS.items() <= saved.json().items()
    assert OPTIONS.items() <= (await client.get(f"{PROFILES}/mine")).json().items()
    again = (await save(client)).json()
    assert (again["reasoning_effort"], again["timeout"], again["extra_body"]) == (None, None, {})


async def test_a_profile_says_what_holds_where_nothing_is_set(client: httpx.AsyncClient) -> None:
    facts = (await save(client)).json()["facts"]
    assert (facts["is_listed"], facts["context_window"], facts["sees_images"]) == (True, 272_000, True)
    assert (facts["input_cost_per_token"], facts["efforts"][0]) == (1.25e-6, "minimal")
    assert facts == (await client.get(FACTS, params={"model": "openai/gpt-5"})).json()
    assert facts["calls_tools"]
    small = (await client.get(FACTS, params={"model": "openai/gemma3:4b"})).json()
    assert (small["is_listed"], small["calls_tools"]) == (False, False)
    unknown = (await client.get(FACTS, params={"model": "openai/of-this-test"})).json()
    assert (unknown["is_listed"], unknown["context_window"], unknown["efforts"]) == (False, 128_000, None)
    assert_problem(await client.get(FACTS, params={"model": "two words"}), 422, "validation_failed")


async def test_values_of_extra_headers_go_in_and_never_come_out(client: httpx.AsyncClient, app: App) -> None:
    saved = await save(client, extra_headers={"X-Team": CANARY})
    assert saved.json()["extra_header_names"] == ["X-Team"]
    assert CANARY not in saved.text + (await client.get(PROFILES)).text
    async with app.database.read() as session:
        row = (await session.scalars(select(LLMProfile).where(LLMProfile.name == "mine"))).one()
    assert CANARY not in str(row.extra_headers_encrypted)
    assert (await save(client)).json()["extra_header_names"] == ["X-Team"]
    elsewhere = await save(client, base_url="https://elsewhere.example/v1")
    assert_problem(elsewhere, 409, "extra_headers_needed")
    assert (await save(client, extra_headers={})).json()["extra_header_names"] == []


@pytest.mark.parametrize(
    ("model", "llm", "said"),
    [
        ("openai/gpt-4o", {"reasoning_effort": "high"}, "takes no reasoning effort."),
        ("openai/gpt-5", {"reasoning_effort": "max"}, "'max'"),
        ("openai/gpt-5", {"thinking_budget": 2000}, "thinking budget"),
        ("openai/gpt-5", {"temperature": 0.2}, "refuses calls that set temperature"),
        ("openai/gpt-4o", {"max_output_tokens": 20_000}, "at most 16384"),
        ("anthropic/claude-opus-4-7", {"thinking_budget": 2000}, "thinking budget"),
        ("anthropic/claude-sonnet-4-5", {"thinking_budget": 64_000}, "part of the reply"),
        ("anthropic/claude-sonnet-4-5", {"thinking_budget": 2000, "temperature": 0.2}, "while it thinks"),
        ("anthropic/claude-sonnet-4-5", {"thinking_budget": 2000, "reasoning_effort": "low"}, "either"),
        ("openai/mine", {"max_output_tokens": 200_000}, "leaves no room"),
        ("openai/mine", {"cache_read_cost_per_token": 1e-7}, "is not known"),
        ("openai/mine", {"extra_body": {"model": "other"}}, "cannot set model"),
        ("anthropic/claude-sonnet-4-5", {"extra_body": {"x": 1}}, "no extra body"),
    ],
)
async def test_what_the_model_cannot_do_is_refused(
    client: httpx.AsyncClient, model: str, llm: dict[str, object], said: str
) -> None:
    reply = await save(client, model, **llm)
    assert_problem(reply, 400, "llm_option_refused")
    assert said in reply.json()["detail"]
    assert reply.json()["fix"]


@pytest.mark.parametrize(
    "llm",
    [
        {"reasoning_effort": "very"},
        {"temperature": 3},
        {"timeout": 0},
        {"extra_headers": {"Host": "x"}},
        {"extra_headers": {"Two words": "x"}},
        {"extra_headers": {"X-Team": "a\nb"}},
        {"extra_body": []},
    ],
)
async def test_values_that_mean_nothing_are_refused(
    client: httpx.AsyncClient, llm: dict[str, object]
) -> None:
    assert_problem(await save(client, **llm), 422, "validation_failed")


async def test_nothing_is_held_against_a_model_that_is_not_known(client: httpx.AsyncClient) -> None:
    saved = await save(client, "openai/mine", reasoning_effort="xhigh", temperature=0.7, top_p=0.9)
    assert saved.status_code == 201


async def test_what_a_client_of_the_protocol_sends_is_kept_or_refused(client: httpx.AsyncClient) -> None:
    everything = {
        "num_retries": 5,
        "retry_multiplier": 8.0,
        "retry_min_wait": 8,
        "retry_max_wait": 64,
        "timeout": 300,
        "stream": False,
        "drop_params": True,
        "log_completions": False,
        "log_completions_folder": "logs/completions",
        "extended_thinking_budget": 200_000,
        "aws_region_name": None,
        "fallback_strategy": None,
        "usage_id": "default",
        "litellm_extra_body": {"verbosity": "low"},
        "seed": 7,
        "disable_vision": True,
    }

    kept = await save(client, **everything)

    assert kept.status_code == 201, kept.text
    profile = kept.json()
    assert profile["extra_body"] == {"verbosity": "low", "seed": 7}
    assert (profile["supports_images"], profile["thinking_budget"], profile["timeout"]) == (False, None, 300)
    for unsupported in (
        {"num_retries": 3},
        {"aws_region_name": "eu-west-1"},
        {"fallback_strategy": {"fallback_llms": ["other"]}},
        {"extended_thinking_budget": 10},
        {"litellm_extra_body": {str(number): 1 for number in range(100)}, "seed": 7},
    ):
        assert_problem(await save(client, **unsupported), 422, "validation_failed")
