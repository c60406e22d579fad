"""Makes backups of the workspaces on sandbox hosts (other machines that run sandboxes). The app server stores
the backups, because a sandbox host may become unreachable. A backup of a sandbox is made only while no agent
works in the sandbox.

A backup is used only when a user lets a conversation continue without its sandbox host. If the conversation's
log has events that are later than the backup, the user must agree, because the backup lacks the later changes
of files. The log itself is complete, because the app server has a copy and restores it.
"""

import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from app_server.archives.archives import Archives
from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import Conflict, NotFound, StartFailure
from app_server.sandbox_backends.workspace_tar import PARTS, TarSink
from app_server.sandbox_lifecycle.idle_sleep import Sleep
from app_server.sandbox_lifecycle.machines import Machines, log_report
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.sandbox_records.rows import REMOTE, Rows

logger = logging.getLogger(__name__)

Position = Callable[[UUID], Awaitable[int]]
"""The type of a function that returns the position of the last event in the event logs of a sandbox's
conversations. It counts only events that the app server has received. The argument is the id of the sandbox.
"""


class Backups:
    def __init__(
        self, config: Config, machines: Machines, rows: Rows, archives: Archives, sleep: Sleep
    ) -> None:
        self._minutes = config.sandbox_backup_minutes
        self._machines = machines
        self._rows = rows
        self._archives = archives
        self._sleep = sleep
        self.position: Position | None = None

    async def make(self) -> None:
        """Runs one round of the background task that copies workspaces from sandbox hosts (other machines
        that run sandboxes) to the app server as backups. Backs up each sandbox that sleeps or has been idle
        for the configured time, if the sandbox was used since its last backup.
        """
        if self._minutes is None or self._machines.backend.kind.backend != REMOTE:
            return
        for sandbox_id in [
            *await self._sleep.idle_for(self._minutes * 60),
            *await self._rows.asleep(None),
        ]:
            try:
                await self._make_if_due(sandbox_id)
            except NotFound:
                continue  # deleted meanwhile
            except StartFailure as failure:
                extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause, "fix": failure.fix}
                logger.warning("no backup could be made", extra=extra)

    async def go_on_elsewhere(self, sandbox_id: UUID, *, from_backup: bool = False) -> None:
        """Lets a sandbox continue without its sandbox host (the machine on which it has run), which cannot be
        reached. The next start of the sandbox restores its last backup on any host that has enough memory.
        Does nothing if the sandbox is starting or archived.

        `from_backup`: true if the user accepts that changes of files after the backup are lost. Raises
        NotFound if there is no such sandbox. Raises Conflict `sandbox_host_lost` if there is no backup.
        Raises Conflict `backup_outdated` if the log of a conversation of the sandbox has events that are
        later than the backup and `from_backup` is false. In this case, the backup's files are also stored as
        a snapshot.
        """
        machines = self._machines
        async with machines.locks[sandbox_id]:
            sandbox = await machines.require(sandbox_id)
            if sandbox.status in {SandboxStatus.STARTING, SandboxStatus.ARCHIVED}:
                return
            if sandbox.archive_id is None:
                archive_id = (await self._require_backup(sandbox, from_backup=from_backup)).id
            else:
                archive_id = sandbox.archive_id
            # Before the row is changed: reports of the lost host must not be accepted any more.
            await machines.keys.revoke(sandbox_id)
            await self._rows.begin_from(sandbox_id, archive_id)
            machines.running.pop(sandbox_id, None)
            await machines.backend.abandon(sandbox_id)

    async def _require_backup(self, sandbox: Sandbox, *, from_backup: bool) -> Archive:
        backup = await self._archives.backup_of(sandbox.id)
        lost = (sandbox.error or {}).get("cause", "Its host is lost.")
        if backup is None:
            raise Conflict(
                f"{lost} There is no backup of this conversation.",
                code="sandbox_host_lost",
                fix="Start the host again, or name it in SLIPWAY_SANDBOX_HOSTS again: the conversation then "
                "continues. To have backups, set SLIPWAY_SANDBOX_BACKUP_MINUTES.",
            )
        later = await self._position(sandbox.id) - (backup.position or 0)
        if later == 0 or from_backup:
            return backup
        made = f"{backup.created_at:%Y-%m-%d %H:%M} UTC"
        await self._keep_files(sandbox, backup, f"Backup of {made}")
        raise Conflict(
            f"{lost} The last backup is of {made}. Changes to files by {later} later "
            f"event{'s' * (later != 1)} are lost with the host.",
            code="backup_outdated",
            fix="Start the host again: the conversation then continues with all its files. Or continue it "
            "from the backup (`from_backup`): the log stays complete, the files are those of the backup. "
            f"Or start a new conversation from its snapshot “Backup of {made}”.",
            backup_at=backup.created_at.isoformat(),
            later_events=later,
        )

    async def _keep_files(self, sandbox: Sandbox, backup: Archive, name: str) -> None:
        if name in await self._archives.snapshot_names(sandbox.id):
            return

        async def fill(sink: TarSink) -> None:
            await self._archives.copy_project(backup.id, sink)

        await self._archives.add(await self._archives.write(sandbox, ArchiveKind.SNAPSHOT, fill, name))

    async def _make_if_due(self, sandbox_id: UUID) -> None:
        machines = self._machines
        async with machines.locks[sandbox_id]:
            sandbox, last = await machines.require(sandbox_id), await self._archives.backup_of(sandbox_id)
            position = await self._position(sandbox_id)
            if sandbox.archive_id or sandbox.status not in {SandboxStatus.RUNNING, SandboxStatus.PAUSED}:
                return
            is_of_this_sleep = sandbox.status == SandboxStatus.RUNNING or (
                last is not None and last.created_at >= sandbox.updated_at
            )
            if last and last.position == position and is_of_this_sleep:
                return

            async def fill(sink: TarSink) -> None:
                await machines.backend.export(sandbox_id, PARTS, sink)

            began = now()
            await machines.backend.prepare(log_report(sandbox_id))
            machines.held.add(sandbox_id)
            try:
                backup = await self._archives.write(sandbox, ArchiveKind.BACKUP, fill)
            finally:
                machines.held.discard(sandbox_id)
            backup.position, backup.created_at = position, began
            await self._archives.replace_backup(backup)
            logger.info("a backup was made", extra={"sandbox_id": sandbox_id.hex})

    async def _position(self, sandbox_id: UUID) -> int:
        assert self.position, "listen() comes first"
        return await self.position(sandbox_id)
