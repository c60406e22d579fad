"""Decides whether and when a failed request to a model is repeated. Has no side effects. The waits are partly
random.
"""

import random

from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import MAX_SERVED_WAIT_SECONDS, LLMError


def retries(llm: LLM, error: LLMError) -> int:
    """Returns how often a request to this model may be repeated after this error: the lower of the limits of
    the model's configuration and the error's class. Does not check whether the error can be retried at all.
    """
    return min(llm.num_retries, error.max_retries)


def wait_seconds(llm: LLM, attempt: int, error: LLMError) -> float | None:
    """Returns how many seconds to wait before a failed request to a model is repeated. Returns None if the
    request must not be repeated. `attempt`: the number of the failed attempt, counted from 1. `error`: why
    the attempt failed.
    """
    if attempt > retries(llm, error) or not error.is_retryable:
        return None
    if error.retry_after_seconds is not None:
        asked = max(error.retry_after_seconds, 0)
        return asked if asked <= MAX_SERVED_WAIT_SECONDS else None
    ceiling = min(llm.retry_max_wait, llm.retry_multiplier * 2 ** (attempt - 1))
    # Spread out, so that conversations which failed together do not come back together.
    return max(llm.retry_min_wait, random.uniform(ceiling / 2, ceiling))  # noqa: S311 (no secret)
