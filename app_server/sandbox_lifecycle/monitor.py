"""Watches the sandboxes that should run, and restarts those that do not run. A sandbox that has crashed too
often gets the status ERROR and is not restarted.
"""

import asyncio
import logging
import time
from collections import defaultdict, deque
from uuid import UUID

from app_server.core.errors import HOST_LOST_CODES, NotFound, StartFailure, Unavailable
from app_server.sandbox_lifecycle import machines as machines_module
from app_server.sandbox_lifecycle.admission import Admission
from app_server.sandbox_lifecycle.machines import Machines, log_report
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandbox_records.rows import Rows

logger = logging.getLogger(__name__)

MAX_RESTARTS = 5
RESTART_WINDOW_SECONDS = 600.0
CONCURRENT_REVIVALS = 4
PROBE_SECONDS = 10.0


class Monitor:
    def __init__(self, machines: Machines, rows: Rows, admission: Admission) -> None:
        self._machines = machines
        self._rows = rows
        self._admission = admission
        self._reviving: set[UUID] = set()
        # The time when each agent server answered last, in seconds of the monotonic clock.
        self._heard: dict[UUID, float] = {}
        self._probed = 0.0
        self._is_probing = False
        self._crashes: defaultdict[UUID, deque[float]] = defaultdict(deque)
        self._slots = asyncio.Semaphore(CONCURRENT_REVIVALS)

    async def check(self) -> None:
        """Runs one round of the background task that watches sandboxes. Starts sandboxes that should run but
        do not run. Replaces the session key of a running sandbox when half of the key's lifetime has passed;
        with this key, the sandbox and the app server authenticate to each other. Also checks, in the
        background, whether sandbox starts that wait for memory can be admitted.
        """
        machines = self._machines
        try:
            await machines.await_engine()
        except StartFailure:
            return  # the next start of a sandbox reports the error
        machines.elsewhere = await self._rows.elsewhere()
        known_before = set(machines.running)
        await self._mark_lost()
        wanted = await self._rows.wanted(machines.backend.kind.backend)
        await self._forget(known_before - wanted - machines.held)
        quiet = wanted - self._reviving - machines.deleting - machines.held
        known = {sandbox_id for sandbox_id in quiet if sandbox_id in machines.running}
        try:
            dead = await machines.backend.find_dead(known) if known else set()
        except StartFailure as failure:
            # The engine does not answer. Its sandboxes may still run, so they do not count as dead.
            logger.warning("sandboxes cannot be checked", extra={"cause": failure.cause})
            return
        for sandbox_id in known - dead:
            if machines.keys.is_due(sandbox_id):
                machines.background.start(self._renew(sandbox_id), name="renew a session key")
        silent = self._silent(known - dead)
        for sandbox_id in dead | silent | (quiet - known):
            self._reviving.add(sandbox_id)
            machines.background.start(
                self._revive(sandbox_id, died=sandbox_id in dead, is_silent=sandbox_id in silent),
                name="revive sandbox",
            )
        machines.background.start(self._admission.check(), name="let sandboxes in")

    async def _mark_lost(self) -> None:
        """Sets the status MISSING for sandboxes whose sandbox host (the machine on which they run) cannot be
        reached. When the host can be reached again, sets the status of these sandboxes back to RUNNING.
        """
        machines = self._machines
        wanted, marked = await self._rows.wanted(machines.backend.kind.backend), await self._rows.lost()
        lost = await machines.backend.find_lost(wanted | marked)
        for sandbox_id in wanted & lost.keys():
            logger.warning("a sandbox is lost with its host", extra={"sandbox_id": sandbox_id.hex})
            await self._rows.save(sandbox_id, SandboxStatus.MISSING, failure=lost[sandbox_id])
            machines.lose(sandbox_id)
            await machines.changed(sandbox_id)
        for sandbox_id in marked - lost.keys():
            await self._rows.save(sandbox_id, SandboxStatus.RUNNING)

    def _silent(self, alive: set[UUID]) -> set[UUID]:
        """Returns the ids of those sandboxes in `alive` whose agent server has not answered for longer than
        SILENT_SECONDS. Every PROBE_SECONDS, starts a new health check of the agent servers in the background.

        `alive`: the ids of the sandboxes whose container or process runs.
        """
        moment = time.monotonic()
        self._heard = {each: self._heard.get(each, moment) for each in alive}
        if not self._is_probing and moment - self._probed >= PROBE_SECONDS:
            self._is_probing, self._probed = True, moment
            self._machines.background.start(self._probe(alive), name="probe agent servers")
        return {each for each in alive if moment - self._heard[each] > machines_module.SILENT_SECONDS}

    async def _probe(self, alive: set[UUID]) -> None:
        running = [each for each in self._machines.running.values() if each.id in alive]
        try:
            answers = await asyncio.gather(*(each.client.responds() for each in running))
        finally:
            self._is_probing = False
        for each, responds in zip(running, answers, strict=True):
            if responds:
                self._heard[each.id] = time.monotonic()

    async def _renew(self, sandbox_id: UUID) -> None:
        try:
            await self._machines.renew_key(sandbox_id)
        except NotFound:
            return  # deleted meanwhile

    def forgive(self, sandbox_id: UUID) -> None:
        """Sets the number of counted crashes of the sandbox back to zero. Called when the sandbox is resumed,
        and after it was deleted.
        """
        self._crashes.pop(sandbox_id, None)

    async def _forget(self, sandbox_ids: set[UUID]) -> None:
        """Removes the given sandboxes from the list of running sandboxes in this process. Called for
        sandboxes that another process, such as the command `slipway sandboxes stop`, has put to sleep or
        removed.
        """
        for sandbox_id in sandbox_ids:
            self._machines.lose(sandbox_id)
            await self._machines.changed(sandbox_id)

    async def _revive(self, sandbox_id: UUID, *, died: bool, is_silent: bool = False) -> None:
        machines = self._machines
        try:
            if is_silent:
                frozen = await machines.why_dead(sandbox_id)
                if not await machines.end_silent(sandbox_id):
                    return
                machines.lose(sandbox_id)
                await machines.changed(sandbox_id)
                if await self._gave_up(sandbox_id, frozen):
                    return
            elif died:
                machines.lose(sandbox_id)
                await machines.changed(sandbox_id)
                if await self._gave_up(sandbox_id, await machines.why_dead(sandbox_id)):
                    return
            async with self._admission.reservation(sandbox_id, log_report(sandbox_id)), self._slots:
                if (await machines.require(sandbox_id)).status != SandboxStatus.RUNNING:
                    return  # put to sleep meanwhile
                await machines.start(sandbox_id, log_report(sandbox_id))
            await machines.changed(sandbox_id)
        except (NotFound, Unavailable):
            return  # deleted meanwhile, or it belongs to another server
        except StartFailure as failure:
            # The row stays RUNNING, so that the next round tries again. If the engine does not answer, this
            # does not count as a crash of the sandbox.
            if failure.code not in {"docker_unavailable", *HOST_LOST_CODES}:
                await self._gave_up(sandbox_id, failure)
        finally:
            self._reviving.discard(sandbox_id)

    async def _gave_up(self, sandbox_id: UUID, failure: StartFailure) -> bool:
        """Counts a crash of the sandbox. If the sandbox has crashed more than MAX_RESTARTS times within
        RESTART_WINDOW_SECONDS, sets its status to ERROR, so that it is not restarted. Returns whether the
        status was set to ERROR.
        """
        crashes, moment = self._crashes[sandbox_id], time.monotonic()
        while crashes and moment - crashes[0] > RESTART_WINDOW_SECONDS:
            crashes.popleft()
        crashes.append(moment)
        logger.warning("agent server died", extra={"sandbox_id": sandbox_id.hex, "cause": failure.cause})
        if len(crashes) <= MAX_RESTARTS:
            return False
        minutes = f"{RESTART_WINDOW_SECONDS / 60:g} minutes"
        cause = f"{failure.cause} It was restarted {MAX_RESTARTS} times within {minutes}."
        fix = (
            "Read the output. When its cause is gone, resume the sandbox: POST "
            f"/api/v1/sandboxes/{sandbox_id.hex}/resume."
        )
        final = StartFailure(failure.code, cause, fix=fix, output=failure.output)
        await self._rows.save(sandbox_id, SandboxStatus.ERROR, failure=final)
        await self._machines.changed(sandbox_id)
        return True
