"""Tests of the model catalogue, a table of facts about models (context window, prices, abilities) by name."""

from pathlib import Path

import orjson
import pytest

import agent_runtime.catalogue
from agent_runtime.catalogue.facts import DEFAULT_WINDOW, Facts
from agent_runtime.catalogue.lookup import facts_of

HERE = Path(agent_runtime.catalogue.__file__).parent


def test_a_listed_model_has_its_window_prices_and_what_it_takes() -> None:
    facts = facts_of("anthropic/claude-sonnet-4-5")
    assert (facts.is_listed, facts.window, facts.max_output) == (True, 200_000, 64_000)
    assert facts.price is not None
    assert (facts.price.prompt, facts.price.cache_read, facts.price.cache_write) == (3e-6, 3e-7, 3.75e-6)
    assert facts.price.cache_write_hour == 6e-6
    assert (facts.sees_images, facts.takes_budget, facts.protocols) == (True, True, ("anthropic",))
    assert (facts.efforts, facts.echo, facts.marks_cache) == (
        ("low", "medium", "high"),
        "thinking_blocks",
        True,
    )


@pytest.mark.parametrize(
    ("model", "same_as"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("litellm_proxy/openai/gpt-5", "gpt-5"),
        (
            "bedrock/us.anthropic.claude-opus-4-7",
            "us.anthropic.claude-opus-4-7",
        ),
        ("OpenAI/GPT-4o", "gpt-4o"),
    ],
)
def test_a_model_is_found_behind_other_names_of_its_vendor(model: str, same_as: str) -> None:
    assert facts_of(model).is_listed
    assert facts_of(model) == facts_of(same_as)


def test_an_unlisted_model_has_stated_defaults() -> None:
    assert facts_of("openai/of-this-test") == Facts()
    assert Facts().window == DEFAULT_WINDOW
    assert Facts().caches is None
    assert (Facts().price, Facts().efforts, Facts().sees_images) == (None, None, False)


@pytest.mark.parametrize(
    ("model", "maker", "echo"),
    [
        ("openai/gpt-99", "openai", None),
        ("hosted_vllm/openai/gpt-oss-21b", "gpt-oss", "reasoning_content"),
        ("lm_studio/hf.co/unsloth/Qwen3-Coder-GGUF", "qwen", "reasoning_content"),
        ("bedrock/eu.anthropic.claude-new-v1:0", "anthropic", "thinking_blocks"),
    ],
)
def test_an_unlisted_model_has_what_its_family_is_known_for(model: str, maker: str, echo: str | None) -> None:
    facts = facts_of(model)
    assert (facts.is_listed, facts.maker, facts.echo) == (False, maker, echo)
    assert facts.price is None


@pytest.mark.parametrize(
    ("model", "efforts", "refused"),
    [
        ("openai/gpt-4o", (), frozenset()),
        ("openai/gpt-5", ("minimal", "low", "medium", "high"), {"temperature", "top_p", "stop"}),
        ("anthropic/claude-opus-4-7", ("low", "medium", "high", "xhigh", "max"), {"temperature", "top_p"}),
    ],
)
def test_what_a_model_refuses_is_listed(model: str, efforts: tuple[str, ...], refused: set[str]) -> None:
    assert (facts_of(model).efforts, facts_of(model).refused) == (efforts, refused)


def test_the_first_known_name_counts() -> None:
    assert facts_of(None, "openai/my-alias", "openai/gpt-4o") == facts_of("gpt-4o")


def test_the_catalogue_is_small_sorted_and_one_line_for_each_model() -> None:
    content = (HERE / "models.json").read_bytes()
    names = list(orjson.loads(content))
    assert len(content) < 300_000
    assert names == sorted(names)
    assert content.count(b"\n") == len(names) + 2
