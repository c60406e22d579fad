"""Who waits for memory, and whose turn it is: users take turns, and each one's starts go in their order."""

import asyncio
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app_server.core.start_report import Report

REMEMBERED_TURNS = 20


@dataclass(eq=False)
class Waiting:
    """One start. `turn` is done when it may go on; `report` is told where it stands.

    `place`: the memory that is kept for it then (capacity_reservations.py).
    """

    sandbox_id: UUID
    user_id: UUID
    since: datetime
    report: Report
    turn: asyncio.Future[None] = field(default_factory=asyncio.Future)
    told: str | None = None
    place: int | None = None

    @property
    def is_served(self) -> bool:
        return self.turn.done() and not self.turn.cancelled() and self.turn.exception() is None

    def refuse(self, error: Exception) -> None:
        if not self.turn.done():
            self.turn.set_exception(error)

    def tell(self, sentence: str) -> None:
        if sentence != self.told:
            self.told = sentence
            self.report(sentence)


@dataclass
class AdmissionQueue:
    _waiting: list[Waiting] = field(default_factory=list)
    _last_turn_of: dict[UUID, int] = field(default_factory=dict)
    _turns: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED_TURNS))
    _count: int = 0

    def join(self, waiting: Waiting) -> None:
        self._waiting.append(waiting)

    def leave(self, waiting: Waiting) -> None:
        """Nothing happens to one that has left."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def __contains__(self, waiting: Waiting) -> bool:
        return waiting in self._waiting

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def of(self, sandbox_id: UUID) -> list[Waiting]:
        return [each for each in self._waiting if each.sandbox_id == sandbox_id]

    def in_order(self) -> list[Waiting]:
        """Round after round, one of each user; first the user who has waited longest since the last turn."""
        of_user: defaultdict[UUID, list[Waiting]] = defaultdict(list)
        for waiting in sorted(self._waiting, key=lambda each: each.since):
            of_user[waiting.user_id].append(waiting)
        rounds = [
            (number, self._last_turn_of.get(user_id, 0), waiting)
            for user_id, theirs in of_user.items()
            for number, waiting in enumerate(theirs)
        ]
        rounds.sort(key=lambda each: (each[0], each[1], each[2].since))
        return [waiting for _, _, waiting in rounds]

    def serve(self, waiting: Waiting) -> None:
        """It is its turn: it leaves, and its user comes last now."""
        self.leave(waiting)
        self._count += 1
        self._last_turn_of[waiting.user_id] = self._count
        if waiting.told:
            self._turns.append(time.monotonic())
        if not waiting.turn.done():
            waiting.turn.set_result(None)

    def seconds_per_turn(self) -> float | None:
        """How long those that had to wait took lately, one after the other; None if that is not known."""
        if len(self._turns) < 2:
            return None
        return (self._turns[-1] - self._turns[0]) / (len(self._turns) - 1)
