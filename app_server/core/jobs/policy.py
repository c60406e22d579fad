"""The policy for jobs of one kind: the number of attempts, the pauses between attempts, and the time limit of
one attempt.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class JobAttempt:
    """One attempt to run a job; the handler receives this object. `number`: 1 for the first attempt.
    `is_last`: the job is dead if this attempt fails.
    """

    job_id: UUID
    kind: str
    payload: dict[str, Any]
    key: str | None
    number: int
    is_last: bool


Handler = Callable[[JobAttempt], Awaitable[dict[str, Any] | None]]
"""Does the job and returns its result, as JSON. An exception means that the attempt has failed. A job may run
more than once, because a server can end before it has noted the result.
"""


class GiveUp(Exception):
    """Raised by a handler of jobs if further attempts cannot succeed. No further attempt is made: the job is
    dead.
    """


class TryAgain(Exception):
    """Raised by a handler of jobs whose attempt has failed in an expected way, so that the job is tried
    again. after: the pause before the next attempt, for example the pause that a called server has asked for;
    None means the pause of the policy.
    """

    def __init__(self, reason: str, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class RetryPolicy:
    """The rules for running jobs of one kind: how often, how long, and how many at the same time.

    `attempts`: the number of attempts before a job is dead. `timeout`: the time after which an attempt is
    ended and has failed. `at_once`: how many jobs of this kind one server runs at a time.

    The pause after a failed attempt begins with `first_pause` and doubles each time up to `longest_pause`. A
    random factor shortens it by up to a half.
    """

    attempts: int = 8
    first_pause: timedelta = timedelta(seconds=2)
    longest_pause: timedelta = timedelta(hours=1)
    timeout: timedelta = timedelta(minutes=1)
    at_once: int = 4

    def pause_after(self, attempt: int) -> timedelta:
        """Returns the pause after the failed attempt with this number."""
        full = min(self.first_pause * 2 ** min(attempt - 1, 30), self.longest_pause)
        shortened: timedelta = full * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load; nothing secret)
        return shortened
