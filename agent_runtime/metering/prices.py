"""The prices of a model's tokens, from which the cost of a model call is computed."""

from dataclasses import dataclass

from agent_runtime.metering.token_counts import Usage


@dataclass(frozen=True)
class Price:
    """The prices of a model's tokens, in dollars per token. `cache_write`: the price of input tokens that the
    vendor stores in its cache for some minutes. `cache_write_hour`: the price if the vendor stores them for
    an hour; None if it is the same as `cache_write`.
    """

    prompt: float
    completion: float
    cache_read: float
    cache_write: float
    cache_write_hour: float | None = None

    def of(self, usage: Usage) -> float:
        fresh = max(usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0)
        for_an_hour = min(usage.cache_write_hour_tokens, usage.cache_write_tokens)
        hour_price = self.cache_write if self.cache_write_hour is None else self.cache_write_hour
        written = (usage.cache_write_tokens - for_an_hour) * self.cache_write + for_an_hour * hour_price
        cached = usage.cache_read_tokens * self.cache_read + written
        return fresh * self.prompt + cached + usage.completion_tokens * self.completion


def set_price(
    prompt: float | None,
    completion: float | None,
    *,
    cache_read: float | None = None,
    cache_write: float | None = None,
) -> Price | None:
    """Returns the prices that a user has set for a model, in dollars per token. If `cache_read` or
    `cache_write` is None, the price `prompt` is used in its place. If only one of `prompt` and `completion`
    is set, the other one counts as 0. Returns None if neither is set.
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
