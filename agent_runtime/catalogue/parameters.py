"""What a parameter of a call is called at a model's vendor, and whether that has it."""

from typing import Any

from agent_runtime.catalogue.lookup import facts_of

_NAMES_MAX_COMPLETION_TOKENS = frozenset({"cerebras", "groq", "xai"})
_HAS_CACHE_KEY = frozenset({"openai", "azure"})


def is_model_of_openai(model: str) -> bool:
    """By the name of the model, at any vendor that serves it."""
    return facts_of(model).maker == "openai"


def names_max_completion_tokens(model: str) -> bool:
    """Whether a limit of the reply is called so. Most servers know only `max_tokens`, the older name, which
    OpenAI's reasoning models refuse.
    """
    return model.partition("/")[0] in _NAMES_MAX_COMPLETION_TOKENS or is_model_of_openai(model)


def has_cache_key(model: str) -> bool:
    """Whether calls with one `prompt_cache_key` are sent to one cache."""
    vendor = model.partition("/")[0]
    return vendor == "moonshot" or (vendor in _HAS_CACHE_KEY and is_model_of_openai(model))


def thinking_budget(model: str, tokens: int | None) -> dict[str, Any]:
    """The field of a chat completion that asks for so many tokens of thinking; none for None."""
    if tokens is None:
        return {}
    if model.startswith("openrouter/"):
        return {"reasoning": {"max_tokens": tokens}}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
