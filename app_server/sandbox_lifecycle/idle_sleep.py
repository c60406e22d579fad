"""Puts idle sandboxes to sleep: pauses their containers. Ends the containers of sandboxes that have slept for
a long time. The files of these sandboxes are kept.
"""

import asyncio
import logging
import time
from uuid import UUID

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.core.errors import StartFailure, Unavailable
from app_server.sandbox_lifecycle.machines import Machines
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandbox_records.rows import Rows

logger = logging.getLogger(__name__)


class Sleep:
    def __init__(self, config: Config, machines: Machines, rows: Rows) -> None:
        self._config = config
        self._machines = machines
        self._rows = rows

    async def pause(self, sandbox_id: UUID) -> None:
        """Pauses the sandbox until it is started again. Does nothing if the sandbox is archived. Raises
        NotFound if there is no such sandbox. Raises Unavailable if the sandbox belongs to another app server
        or if the sandbox backend (such as Docker) fails.
        """
        try:
            await self.put_to_sleep(sandbox_id)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure

    async def put_to_sleep(self, sandbox_id: UUID) -> None:
        """Pauses the sandbox until it is started again. Does nothing if the sandbox is archived.

        Raises NotFound if there is no such sandbox. Raises Unavailable if the sandbox belongs to another app
        server. Raises StartFailure if the sandbox backend (such as Docker) fails; the method `pause` raises
        Unavailable in place of this error. A sandbox that ran before still runs after such a failure.
        """
        machines = self._machines
        await machines.require(sandbox_id)
        async with machines.locks[sandbox_id]:
            status = (await machines.require(sandbox_id)).status
            if status == SandboxStatus.ARCHIVED:
                return
            await self._freeze(sandbox_id, was_running=status == SandboxStatus.RUNNING)
        await machines.changed(sandbox_id)

    async def put_idle_to_sleep(self, sandbox_id: UUID, seconds: float) -> bool:
        """Pauses the sandbox if it runs and has still been idle for longer than `seconds`. A message may have
        arrived since the caller looked, for example while another sandbox was paused. Returns whether the
        sandbox was paused. Raises StartFailure if the sandbox backend (such as Docker) fails. The sandbox
        then still runs.
        """
        machines = self._machines
        if sandbox_id not in machines.running:
            return False
        async with machines.locks[sandbox_id]:
            sandbox = await self._rows.find(sandbox_id)
            if sandbox is None or sandbox.status != SandboxStatus.RUNNING:
                return False
            is_frozen = await self._freeze(sandbox_id, was_running=True, min_idle_seconds=seconds)
        await machines.changed(sandbox_id)
        return is_frozen

    async def _freeze(
        self, sandbox_id: UUID, *, was_running: bool, min_idle_seconds: float | None = None
    ) -> bool:
        """Stores that the sandbox is paused, and then pauses it. Returns whether it was paused. If it was not
        and it was running before (`was_running`), stores that it runs. The caller must hold the sandbox's
        lock.

        `min_idle_seconds`: the sandbox is only paused if it has been idle for longer; None means always.
        """
        machines = self._machines
        # Otherwise the monitor would end the calls to the agent server of a sandbox that stays awake.
        machines.held.add(sandbox_id)
        running, is_frozen = None, False
        try:
            # The status is stored before the idle time is asked: a message that arrives later finds a paused
            # sandbox and wakes it.
            await self._rows.save(sandbox_id, SandboxStatus.PAUSED)
            running = machines.running.pop(sandbox_id, None)
            if min_idle_seconds is None or await self._is_idle(running, min_idle_seconds):
                await machines.backend.freeze(sandbox_id)
                is_frozen = True
        finally:
            try:
                if was_running and not is_frozen:
                    if running is not None:
                        machines.running[sandbox_id] = running
                    await self._rows.save(sandbox_id, SandboxStatus.RUNNING)
            finally:
                machines.held.discard(sandbox_id)
        return is_frozen

    async def _is_idle(self, running: RunningSandbox | None, seconds: float) -> bool:
        if running is None or running.id in self._machines.keep_awake_counts:
            return False
        return await _idle_seconds(running) > seconds

    async def end(self, sandbox_id: UUID) -> bool:
        """Ends the container or process of a sleeping (paused) sandbox, which frees its memory. Returns True
        if it was ended, and False if the sandbox no longer sleeps. Raises StartFailure if the sandbox backend
        (such as Docker) fails.
        """
        async with self._machines.locks[sandbox_id]:
            if not await self._rows.asleep([sandbox_id]):
                return False
            logger.info("a halted sandbox is ended", extra={"sandbox_id": sandbox_id.hex})
            await self._machines.backend.stop(sandbox_id)
        return True

    async def idle_for(self, seconds: float) -> list[UUID]:
        """Returns the ids of the running sandboxes that have been idle (no agent has worked in them) for
        longer than `seconds`. The sandbox that has been idle longest comes first. Leaves out sandboxes that
        must not be put to sleep at present (see `keep_awake_counts` of Machines).
        """
        machines = self._machines
        running = [each for each in machines.running.values() if each.id not in machines.keep_awake_counts]
        idle = await asyncio.gather(*(_idle_seconds(each) for each in running))
        found = [(idle_seconds, each.id) for idle_seconds, each in zip(idle, running, strict=True)]
        return [
            sandbox_id for idle_seconds, sandbox_id in sorted(found, reverse=True) if idle_seconds > seconds
        ]

    async def rest(self) -> None:
        """Runs one round of the background task that puts sandboxes to sleep. A sandbox is put to sleep when
        it has been idle for longer than the configured time.

        Also ends the container of each sandbox that has slept for longer than another configured time,
        because a paused container still uses memory.
        """
        await self._end_long_frozen()
        seconds = (self._config.sandbox_idle_minutes or 0) * 60
        for sandbox_id in await self.idle_for(seconds) if seconds else []:
            try:
                if await self.put_idle_to_sleep(sandbox_id, seconds):
                    logger.info("an idle sandbox was put to sleep", extra={"sandbox_id": sandbox_id.hex})
            except StartFailure as failure:
                extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause, "fix": failure.fix}
                logger.warning("an idle sandbox could not be put to sleep", extra=extra)

    async def _end_long_frozen(self) -> None:
        machines, minutes = self._machines, self._config.sandbox_frozen_minutes
        if machines.is_absent:
            return
        try:
            frozen = await machines.backend.find_frozen()
            for sandbox_id in await self._rows.asleep(frozen, minutes) if frozen else []:
                await self.end(sandbox_id)
        except StartFailure as failure:
            logger.warning("halted sandboxes cannot be ended", extra={"cause": failure.cause})


async def _idle_seconds(running: RunningSandbox) -> float:
    """Returns for how many seconds no agent has worked in the sandbox. Counts only the time since this
    process has started the sandbox or has found it running. Returns 0 if the agent server does not answer.
    """
    idle = await running.client.idle_seconds()
    # The agent server's clock continued while the sandbox slept.
    return min(idle or 0, time.monotonic() - running.up_since)
