"""When a failed call is made again, and after how long."""

import random

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMError

MAX_RETRY_AFTER_SECONDS = 300


def attempts(llm: LLM) -> AsyncRetrying:
    """Iterate and make one attempt each; the last error is raised. Cancellation passes through."""
    return AsyncRetrying(
        stop=stop_after_attempt(llm.num_retries + 1),
        retry=retry_if_exception(_is_worth_retrying),
        wait=lambda state: _wait_seconds(llm, state),
        reraise=True,
    )


def _is_worth_retrying(error: BaseException) -> bool:
    return isinstance(error, LLMError) and error.is_retryable


def _wait_seconds(llm: LLM, state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, LLMError) and error.retry_after_seconds is not None:
        return min(max(error.retry_after_seconds, 0), MAX_RETRY_AFTER_SECONDS)
    ceiling = min(llm.retry_max_wait, llm.retry_multiplier * 2 ** (state.attempt_number - 1))
    # Spread out, so that conversations which failed together do not come back together.
    return max(llm.retry_min_wait, random.uniform(ceiling / 2, ceiling))  # noqa: S311 (no secret)
