"""The queue of sandbox starts that wait for memory. The users take turns: after a start of one user, a start
of another user is admitted. The starts of one user stay in the order in which they were requested.
"""

import asyncio
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app_server.core.start_report import Report

REMEMBERED_ADMISSIONS = 20


@dataclass(eq=False)
class Waiting:
    """One sandbox start in the queue.

    `since`: when the start began to wait. `report`: a function that is called with a sentence about the
    start's position in the queue. `admitted`: a future that is done when the start may continue or has
    failed. `last_sentence`: the last sentence that was reported; None if there was none. `reservation`: the
    number of the memory reservation of the admitted start (capacity_reservations.py); None if there is none.
    """

    sandbox_id: UUID
    user_id: UUID
    since: datetime
    report: Report
    admitted: asyncio.Future[None] = field(default_factory=asyncio.Future)
    last_sentence: str | None = None
    reservation: int | None = None

    @property
    def is_served(self) -> bool:
        return self.admitted.done() and not self.admitted.cancelled() and self.admitted.exception() is None

    def refuse(self, error: Exception) -> None:
        if not self.admitted.done():
            self.admitted.set_exception(error)

    def tell(self, sentence: str) -> None:
        if sentence != self.last_sentence:
            self.last_sentence = sentence
            self.report(sentence)


@dataclass
class AdmissionQueue:
    _waiting: list[Waiting] = field(default_factory=list)
    _last_admission_of: dict[UUID, int] = field(default_factory=dict)
    _admissions: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED_ADMISSIONS))
    _count: int = 0

    def join(self, waiting: Waiting) -> None:
        self._waiting.append(waiting)

    def leave(self, waiting: Waiting) -> None:
        """Removes a sandbox start from the queue. Does nothing if the start is not in the queue."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def __contains__(self, waiting: Waiting) -> bool:
        return waiting in self._waiting

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def of(self, sandbox_id: UUID) -> list[Waiting]:
        return [each for each in self._waiting if each.sandbox_id == sandbox_id]

    def in_order(self) -> list[Waiting]:
        """Returns the waiting sandbox starts in the order in which they will be admitted: first one start of
        each user, then a second start of each user, and so on. In each of these rounds, the user whose last
        admission is longest ago comes first. For example, if user A has two waiting starts, user B has one,
        and A was admitted last, the order is: B's start, A's first start, A's second start.
        """
        of_user: defaultdict[UUID, list[Waiting]] = defaultdict(list)
        for waiting in sorted(self._waiting, key=lambda each: each.since):
            of_user[waiting.user_id].append(waiting)
        rounds = [
            (number, self._last_admission_of.get(user_id, 0), waiting)
            for user_id, theirs in of_user.items()
            for number, waiting in enumerate(theirs)
        ]
        rounds.sort(key=lambda each: (each[0], each[1], each[2].since))
        return [waiting for _, _, waiting in rounds]

    def serve(self, waiting: Waiting) -> None:
        """Admits a sandbox start: removes it from the queue and lets it continue. From now on, the user of
        this start comes after all other users who have waiting starts.
        """
        self.leave(waiting)
        self._count += 1
        self._last_admission_of[waiting.user_id] = self._count
        if waiting.last_sentence:
            self._admissions.append(time.monotonic())
        if not waiting.admitted.done():
            waiting.admitted.set_result(None)

    def seconds_per_admission(self) -> float | None:
        """Returns the average time in seconds between recent admissions of starts that had to wait. From this
        time, users get an estimate of how long their start must wait. Returns None if there were fewer than
        two such admissions.
        """
        if len(self._admissions) < 2:
            return None
        return (self._admissions[-1] - self._admissions[0]) / (len(self._admissions) - 1)
