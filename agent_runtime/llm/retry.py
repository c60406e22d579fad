"""Decides whether and when a failed call is made again. Pure except for random numbers and the clock."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import MAX_SERVED_WAIT_SECONDS, LLMError


def wait_seconds(llm: LLM, attempt: int, error: LLMError) -> float | None:
    """Returns how long to wait after this failed attempt (attempts count from 1). Returns None if it was the
    last.
    """
    if attempt > min(llm.num_retries, error.max_retries) or not error.is_retryable:
        return None
    if error.retry_after_seconds is not None:
        asked = max(error.retry_after_seconds, 0)
        return asked if asked <= MAX_SERVED_WAIT_SECONDS else None
    ceiling = min(llm.retry_max_wait, llm.retry_multiplier * 2 ** (attempt - 1))
    # Spread out, so that conversations which failed together do not come back together.
    return max(llm.retry_min_wait, random.uniform(ceiling / 2, ceiling))  # noqa: S311 (no secret)


def asked_seconds(headers: Mapping[str, str]) -> float | None:
    """Returns the wait that the vendor asks for, in any of three header forms. Header names are in lower
    case.
    """
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return float(milliseconds) / 1000
        return float(headers["retry-after"])
    except KeyError:
        return None
    except ValueError:
        return _seconds_until(headers.get("retry-after", ""))


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None  # our own back-off serves as well
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max((then - datetime.now(UTC)).total_seconds(), 0)
