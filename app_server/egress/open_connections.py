"""The connections that are open at this moment, by sandbox: how many, and to what."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from app_server.egress.egress_log import EgressTarget

MAX_CONNECTIONS = 256
"""Of one sandbox at a time."""


@dataclass(eq=False)
class ConnectionSlot:
    """target: once it was let through."""

    task: asyncio.Task[object] | None
    target: EgressTarget | None = None


class OpenConnections:
    def __init__(self) -> None:
        self._places: dict[UUID, set[ConnectionSlot]] = {}

    @contextmanager
    def place(self, sandbox_id: UUID) -> Iterator[ConnectionSlot | None]:
        """For the current task; None when there are too many already."""
        places = self._places.setdefault(sandbox_id, set())
        if len(places) >= MAX_CONNECTIONS:
            yield None
            return
        place = ConnectionSlot(asyncio.current_task())
        places.add(place)
        try:
            yield place
        finally:
            places.discard(place)
            if not places and self._places.get(sandbox_id) is places:
                del self._places[sandbox_id]

    def targets(self) -> Mapping[UUID, set[EgressTarget]]:
        """Of those that were let through."""
        found = {
            sandbox_id: {place.target for place in places if place.target}
            for sandbox_id, places in self._places.items()
        }
        return {sandbox_id: targets for sandbox_id, targets in found.items() if targets}

    def end(self, sandbox_id: UUID, targets: set[EgressTarget]) -> None:
        """They are cut off where they stand."""
        for place in self._places.get(sandbox_id, ()):
            if place.task and place.target in targets:
                place.task.cancel()
