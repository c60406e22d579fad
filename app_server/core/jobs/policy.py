"""The types with which a feature defines how the jobs of one kind run: the handler, the errors that it
raises, and the rules for attempts, pauses and time limits.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class JobAttempt:
    """One attempt to run a job. The handler of the job receives this object. `key`: jobs with the same key
    run one at a time. `number`: 1 for the first attempt. `is_last`: whether no further attempt is made if
    this one fails.
    """

    job_id: UUID
    kind: str
    payload: dict[str, Any]
    key: str | None
    number: int
    is_last: bool


Handler = Callable[[JobAttempt], Awaitable[dict[str, Any] | None]]
"""A function that runs a job and returns the result as JSON, or None. An exception means that the attempt has
failed. The function may be called again for a job that it has completed, because a server can stop before the
result is stored.
"""

OnDead = Callable[[JobAttempt, str], Awaitable[None]]
"""A function that is called when a job becomes dead, with the last attempt and the reason. So a feature can
note the end of its work, also if the last attempt took too long or its server was killed. The function may be
called again for the same job.
"""


class GiveUp(Exception):
    """The error that a handler raises if further attempts to run the job cannot succeed. The job then becomes
    dead without further attempts.
    """


class TryAgain(Exception):
    """The error that a handler raises if an attempt has failed in an expected way and should be repeated.
    `reason`: the error text that is stored. `after`: the pause before the next attempt, for example the pause
    that a called server has asked for; None means the pause of the RetryPolicy.
    """

    def __init__(self, reason: str, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class RetryPolicy:
    """The rules for running the jobs of one kind.

    `attempts`: how many attempts are made before the job is dead. `timeout`: the time after which an attempt
    is cancelled and counts as failed. `at_once`: how many jobs of this kind one server runs at the same time.
    `first_pause`: the pause after the first failed attempt. The pause doubles after each further failure, up
    to `longest_pause`. Each pause is then shortened at random, by at most half, so that failed jobs do not
    all run again at the same time.
    """

    attempts: int = 8
    first_pause: timedelta = timedelta(seconds=2)
    longest_pause: timedelta = timedelta(hours=1)
    timeout: timedelta = timedelta(minutes=1)
    at_once: int = 4

    def pause_after(self, attempt: int) -> timedelta:
        """Returns the pause before the next attempt. `attempt`: the number of the attempt that has failed."""
        full = min(self.first_pause * 2 ** min(attempt - 1, 30), self.longest_pause)
        shortened: timedelta = full * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load; nothing secret)
        return shortened
