"""Reads the token counts of one model call from the vendor's reply: a chat completion, a response of OpenAI's
Responses API, or a message of Anthropic's API.
"""

from dataclasses import dataclass
from typing import Any

from agent_runtime.metering.lenient_numbers import a_count, a_dict


@dataclass(frozen=True)
class Usage:
    """The token counts of one model call. The completion tokens include the reasoning tokens. The prompt
    tokens include the tokens that the vendor read from its cache or wrote to it.

    `cache_write_hour_tokens`: the part of `cache_write_tokens` that the vendor caches for an hour. `cost`:
    the cost in dollars; None if the vendor has not stated it and it is not computed yet.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_hour_tokens: int = 0
    cost: float | None = None


def usage_of(usage: dict[str, Any]) -> Usage:
    """Converts the field `usage` of a chat completion to a Usage object. Never raises an error: an invalid
    number counts as 0.
    """
    prompt = a_dict(usage.get("prompt_tokens_details"))
    completion = a_dict(usage.get("completion_tokens_details"))
    return Usage(
        prompt_tokens=a_count(usage.get("prompt_tokens")),
        completion_tokens=a_count(usage.get("completion_tokens")),
        cache_read_tokens=a_count(prompt.get("cached_tokens") or usage.get("cache_read_input_tokens")),
        cache_write_tokens=a_count(
            usage.get("cache_creation_input_tokens") or prompt.get("cache_creation_tokens")
        ),
        reasoning_tokens=a_count(completion.get("reasoning_tokens")),
        cache_write_hour_tokens=_for_an_hour(prompt.get("cache_creation_token_details")),
        cost=_cost(usage),
    )


def usage_of_response(usage: dict[str, Any]) -> Usage:
    """Converts the field `usage` of a response of OpenAI's Responses API to a Usage object. Never raises an
    error: an invalid number counts as 0.
    """
    return Usage(
        prompt_tokens=a_count(usage.get("input_tokens")),
        completion_tokens=a_count(usage.get("output_tokens")),
        cache_read_tokens=a_count(a_dict(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning_tokens=a_count(a_dict(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cost=_cost(usage),
    )


def usage_of_message(usage: dict[str, Any]) -> Usage:
    """Converts the field `usage` of a message of Anthropic's API to a Usage object. Anthropic does not
    include cached tokens in `input_tokens`, so this function adds them to the prompt tokens.

    Never raises an error: an invalid number counts as 0.
    """
    read = a_count(usage.get("cache_read_input_tokens"))
    written = a_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=a_count(usage.get("input_tokens")) + read + written,
        completion_tokens=a_count(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_hour_tokens=_for_an_hour(usage.get("cache_creation")),
        cost=_cost(usage),
    )


def _for_an_hour(written: Any) -> int:
    return a_count(a_dict(written).get("ephemeral_1h_input_tokens"))


def _cost(usage: dict[str, Any]) -> float | None:
    cost = usage.get("cost")
    return float(cost) if isinstance(cost, int | float) and 0 <= cost < float("inf") else None
