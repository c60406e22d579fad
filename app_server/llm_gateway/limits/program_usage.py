"""Adds up the token usage and the cost of the model calls that programs in a sandbox make. Such a program
calls the model of its conversation with the conversation's model key. Users see these sums separately from
the usage of the conversation's agent.
"""

from typing import Any

from pydantic import BaseModel

from agent_runtime.metering.token_counts import Usage
from app_server.llm_gateway.limits.models import MICROS


class ProgramUsage(BaseModel):
    """The token usage of all model calls of programs in a conversation, in total. `cost`: in dollars.
    `prompt_tokens` includes the tokens that were read from the vendor's cache or written to it.
    """

    calls: int = 0
    cost: float = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


def with_call(before: dict[str, Any] | None, usage: Usage, micros: int) -> dict[str, Any]:
    """Adds one model call to the total usage of the programs in a conversation, and returns the new total as
    a JSON object. `before`: the stored total; None if there is none. `usage`: the token usage of the call.
    `micros`: the cost of the call in millionths of a dollar.
    """
    sofar = ProgramUsage.model_validate(before or {})
    return ProgramUsage(
        calls=sofar.calls + 1,
        # Rounded, so that the sum stays exact.
        cost=round(sofar.cost + micros / MICROS, 6),
        prompt_tokens=sofar.prompt_tokens + usage.prompt_tokens,
        completion_tokens=sofar.completion_tokens + usage.completion_tokens,
        cache_read_tokens=sofar.cache_read_tokens + usage.cache_read_tokens,
        cache_write_tokens=sofar.cache_write_tokens + usage.cache_write_tokens,
    ).model_dump()
