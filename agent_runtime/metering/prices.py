"""What a call of a model costs."""

from dataclasses import dataclass

from agent_runtime.metering.usage import Usage


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


def set_price(
    prompt: float | None,
    completion: float | None,
    *,
    cache_read: float | None = None,
    cache_write: float | None = None,
) -> Price | None:
    """Returns the price that a user has set, in dollars per token. Cached tokens cost as much as the prompt
    unless they have a price. Returns None if neither `prompt` nor `completion` is set.
    """
    if prompt is None and completion is None:
        return None
    fresh = prompt or 0.0
    return Price(
        fresh,
        completion or 0.0,
        cache_read=fresh if cache_read is None else cache_read,
        cache_write=fresh if cache_write is None else cache_write,
    )
