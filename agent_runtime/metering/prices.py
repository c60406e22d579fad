"""What models cost and how much they take in, by the list that comes with litellm, read when first needed."""

import asyncio
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

from agent_runtime.metering.counts import a_count, a_dict
from agent_runtime.metering.usage import Usage

_LIST = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    prompt: float
    completion: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        fresh = max(usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0)
        cached = usage.cache_read_tokens * self.cache_read + usage.cache_write_tokens * self.cache_write
        return fresh * self.prompt + cached + usage.completion_tokens * self.completion


@dataclass(frozen=True)
class Facts:
    """price, context_window (tokens), max_output_tokens: None where the list does not say."""

    price: Price | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None


def set_price(
    prompt: float | None,
    completion: float | None,
    *,
    cache_read: float | None = None,
    cache_write: float | None = None,
) -> Price | None:
    """The price that a user has set, in dollars per token; what a cache holds costs the same unless set."""
    if prompt is None and completion is None:
        return None
    fresh = prompt or 0.0
    return Price(
        fresh,
        completion or 0.0,
        cache_read=fresh if cache_read is None else cache_read,
        cache_write=fresh if cache_write is None else cache_write,
    )


def listed(*names: str | None) -> Facts:
    """Of the first of these models that the list knows. The first time reads 3 MB: not for an event loop."""
    known = _list()
    for name in filter(None, names):
        parts = name.split("/")
        # `litellm_proxy/anthropic/claude-x` costs what `anthropic/claude-x` or `claude-x` costs.
        for start in range(len(parts)):
            if found := known.get("/".join(parts[start:])):
                return found
    return Facts()


async def looked_up(*names: str | None) -> Facts:
    """The same on an event loop."""
    has_been_read = _list.cache_info().currsize > 0
    return listed(*names) if has_been_read else await asyncio.to_thread(listed, *names)


@cache
def _list() -> Mapping[str, Facts]:
    return {name: _facts(a_dict(entry)) for name, entry in read_list().items()}


def read_list() -> Mapping[str, object]:
    """All that it says, by model; empty where there is no list. Blocking: it reads 3 MB."""
    # The package is found but not imported: that would take seconds.
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    file = Path(package.origin).with_name(_LIST)
    return a_dict(orjson.loads(file.read_bytes())) if file.is_file() else {}


def _facts(entry: Mapping[str, object]) -> Facts:
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    price = None
    if isinstance(prompt, int | float) and isinstance(completion, int | float):
        read, write = entry.get("cache_read_input_token_cost"), entry.get("cache_creation_input_token_cost")
        price = Price(
            prompt,
            completion,
            cache_read=read if isinstance(read, int | float) else prompt,
            cache_write=write if isinstance(write, int | float) else prompt,
        )
    return Facts(
        price, a_count(entry.get("max_input_tokens")) or None, a_count(entry.get("max_output_tokens")) or None
    )
