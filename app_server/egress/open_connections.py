"""The register of the open connections of each sandbox through the egress proxy. It limits their number and
can close them.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from app_server.egress.egress_log import EgressTarget

MAX_CONNECTIONS = 256
"""Maximum number of open connections of one sandbox."""


@dataclass(eq=False)
class ConnectionSlot:
    """One open connection of a sandbox through the egress proxy.

    task: the asyncio task that serves the connection. target: the host and port that the connection goes to;
    None until the connection is allowed.
    """

    task: asyncio.Task[object] | None
    target: EgressTarget | None = None


class OpenConnections:
    def __init__(self) -> None:
        self._slots: dict[UUID, set[ConnectionSlot]] = {}

    @contextmanager
    def slot(self, sandbox_id: UUID) -> Iterator[ConnectionSlot | None]:
        """Registers the current asyncio task as an open connection of the sandbox until the `with` block
        ends. Yields the record of this connection. If the sandbox already has MAX_CONNECTIONS connections,
        registers nothing and yields None.
        """
        slots = self._slots.setdefault(sandbox_id, set())
        if len(slots) >= MAX_CONNECTIONS:
            yield None
            return
        slot = ConnectionSlot(asyncio.current_task())
        slots.add(slot)
        try:
            yield slot
        finally:
            slots.discard(slot)
            if not slots and self._slots.get(sandbox_id) is slots:
                del self._slots[sandbox_id]

    def targets(self) -> Mapping[UUID, set[EgressTarget]]:
        """Returns the hosts and ports of the open connections that were allowed, by the id of the sandbox. A
        sandbox without allowed connections is left out.
        """
        found = {
            sandbox_id: {slot.target for slot in slots if slot.target}
            for sandbox_id, slots in self._slots.items()
        }
        return {sandbox_id: targets for sandbox_id, targets in found.items() if targets}

    def end(self, sandbox_id: UUID, targets: set[EgressTarget]) -> None:
        """Closes the sandbox's open connections to these hosts and ports by cancelling their tasks."""
        for slot in self._slots.get(sandbox_id, ()):
            if slot.task and slot.target in targets:
                slot.task.cancel()
