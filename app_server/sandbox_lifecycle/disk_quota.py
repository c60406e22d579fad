"""Stops sandboxes whose workspaces are larger than the limit. Used only if workspaces are not separate disks
of limited size.
"""

import logging
import time
from uuid import UUID

from app_server.core.errors import StartFailure
from app_server.sandbox_lifecycle.machines import Machines
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandbox_records.rows import Rows

logger = logging.getLogger(__name__)

_REST_FACTOR = 20
"""After a round of measurements, the next round must wait this many times as long as the round took. So the
measurements use at most a twentieth of the time of one processor core.
"""
_GIBIBYTE = 1024**3


class DiskQuota:
    def __init__(self, machines: Machines, rows: Rows) -> None:
        self._machines = machines
        self._rows = rows
        self._not_before = 0.0
        self._tolerated: dict[UUID, int] = {}
        """The workspace size in bytes of each sandbox that was stopped because of its size. When such a
        sandbox is started again, it may run above the limit to delete files, but its workspace must not
        become larger than this stored size.
        """

    async def look(self) -> None:
        """Measures the workspaces of all running sandboxes, one after the other. Stops each sandbox whose
        workspace is larger than the limit. If the sandbox was stopped for this reason before, stops it only
        if its workspace has become larger since then. Does nothing if there is no limit.

        Also does nothing if too little time has passed since the last round. A round that took `t` seconds is
        followed by a pause of _REST_FACTOR times `t` seconds.
        """
        limit = self._machines.backend.workspace_limit.bytes
        began = time.monotonic()
        if limit is None or self._machines.is_absent or began < self._not_before:
            return
        for sandbox_id in list(self._machines.running):
            await self._look_at(sandbox_id, limit)
        self._not_before = time.monotonic() + _REST_FACTOR * (time.monotonic() - began)

    async def _look_at(self, sandbox_id: UUID, limit: int) -> None:
        try:
            held = await self._machines.backend.watched_bytes(sandbox_id)
        except StartFailure as failure:
            extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            logger.warning("a workspace could not be measured", extra=extra)
            return
        if held is None or held <= limit:
            self._tolerated.pop(sandbox_id, None)
        elif held > self._tolerated.get(sandbox_id, limit):
            self._tolerated[sandbox_id] = held
            await self._stop(sandbox_id, _too_large(held, limit))

    async def _stop(self, sandbox_id: UUID, failure: StartFailure) -> None:
        machines = self._machines
        async with machines.locks[sandbox_id]:
            if machines.running.pop(sandbox_id, None) is None:
                return  # put to sleep or deleted meanwhile
            logger.warning(
                "a sandbox was stopped", extra={"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            )
            # The row is written first: if this process is killed in between, the next server finds the error.
            await self._rows.save(sandbox_id, SandboxStatus.ERROR, failure=failure)
            await machines.backend.stop(sandbox_id)
        await machines.changed(sandbox_id)


def _too_large(held: int, limit: int) -> StartFailure:
    return StartFailure(
        "sandbox_workspace_full",
        f"The sandbox was stopped: its workspace holds {held / _GIBIBYTE:.1f} GiB, "
        f"and may hold {limit / _GIBIBYTE:.1f} GiB.",
        fix="Wake it and remove what is not needed, at once: it is stopped again if it grows. Or have "
        "SLIPWAY_SANDBOX_DISK_BYTES raised.",
    )
