"""What models cost and how much they take in, by the list that comes with litellm, read when first needed."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

from agent_runtime.llm.config import LLM
from agent_runtime.llm.foreign import a_count, a_dict
from agent_runtime.llm.messages import Usage

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
    """price, context_window (tokens): None where the list does not say."""

    price: Price | None = None
    context_window: int | None = None


def facts(llm: LLM) -> Facts:
    """What is configured, completed from the list. The first time reads 3 MB: not for an event loop."""
    listed = _listed(llm)
    price = _configured(llm) or listed.price
    return Facts(price, llm.max_input_tokens or listed.context_window)


def _configured(llm: LLM) -> Price | None:
    if llm.input_cost_per_token is None and llm.output_cost_per_token is None:
        return None
    prompt = llm.input_cost_per_token or 0.0
    return Price(prompt, llm.output_cost_per_token or 0.0, cache_read=prompt, cache_write=prompt)


def _listed(llm: LLM) -> Facts:
    known = _list()
    for name in filter(None, (llm.model_canonical_name, llm.model)):
        parts = name.split("/")
        # `litellm_proxy/anthropic/claude-x` costs what `anthropic/claude-x` or `claude-x` costs.
        for start in range(len(parts)):
            if found := known.get("/".join(parts[start:])):
                return found
    return Facts()


def are_at_hand() -> bool:
    """Whether the list has been read, so that `facts` takes no time."""
    return _list.cache_info().currsize > 0


@cache
def _list() -> Mapping[str, Facts]:
    # The package is found but not imported: that would take seconds.
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    file = Path(package.origin).with_name(_LIST)
    listed = a_dict(orjson.loads(file.read_bytes())) if file.is_file() else {}
    return {name: _facts(a_dict(entry)) for name, entry in listed.items()}


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
    return Facts(price, a_count(entry.get("max_input_tokens")) or None)
