"""Chooses the model for a request by the configured routes (rules that send certain calls
to another model).
"""

import re
from collections.abc import Sequence

import orjson

from agent_runtime.llm.config import LLM, Route
from agent_runtime.llm.messages import IMAGE_MARK, Prompt


def choose(llm: LLM, prompt: Prompt) -> LLM:
    """Returns the model of the first route (rule) whose conditions are all met. Returns `llm` if there is no
    such route.
    """
    return next((route.llm for route in llm.routes if _takes(route, prompt)), llm)


def in_order(llm: LLM) -> Sequence[LLM]:
    """Returns the model and its fallback models, in the order in which they are asked."""
    return [llm, *(llm.fallback_strategy.fallback_llms if llm.fallback_strategy else [])]


def _takes(route: Route, prompt: Prompt) -> bool:
    return (
        (route.has_images is None or route.has_images == _has_images(prompt))
        and (route.role is None or route.role == prompt.role)
        and (route.min_prompt_chars is None or _size(prompt) >= route.min_prompt_chars)
        and (route.pattern is None or bool(re.search(route.pattern, _last_user_text(prompt))))
    )


def _has_images(prompt: Prompt) -> bool:
    return any(IMAGE_MARK in message for message in prompt.messages)


def _size(prompt: Prompt) -> int:
    return sum(map(len, prompt.messages))


def _last_user_text(prompt: Prompt) -> str:
    for message in reversed(prompt.messages):
        decoded = orjson.loads(message)
        if decoded.get("role") == "user":
            return str(decoded.get("content"))
    return ""
