"""Functions that say which API parameters a vendor's model takes, and under which names."""

from typing import Any

from agent_runtime.catalogue.lookup import facts_of

_NAMES_MAX_COMPLETION_TOKENS = frozenset({"cerebras", "groq", "xai"})
_HAS_CACHE_KEY = frozenset({"openai", "azure"})


def is_model_of_openai(model: str) -> bool:
    """Returns whether the name belongs to a model that OpenAI made. Any vendor may offer such a model."""
    return facts_of(model).maker == "openai"


def names_max_completion_tokens(model: str) -> bool:
    """Returns whether requests to the model must set the maximum length of a reply with the parameter
    `max_completion_tokens`. OpenAI's reasoning models refuse the older name `max_tokens`, but most other
    vendors know only this older name.
    """
    return model.partition("/")[0] in _NAMES_MAX_COMPLETION_TOKENS or is_model_of_openai(model)


def has_cache_key(model: str) -> bool:
    """Returns whether the model's vendor has the parameter `prompt_cache_key`. Requests with the same value
    of this parameter use the same prompt cache.
    """
    vendor = model.partition("/")[0]
    return vendor == "moonshot" or (vendor in _HAS_CACHE_KEY and is_model_of_openai(model))


def thinking_budget(model: str, tokens: int | None) -> dict[str, Any]:
    """Returns a dict with the field of a request that sets the maximum number of thinking tokens. The name of
    the field depends on `model`. Returns an empty dict if `tokens` is None.
    """
    if tokens is None:
        return {}
    if model.startswith("openrouter/"):
        return {"reasoning": {"max_tokens": tokens}}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
