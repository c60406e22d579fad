"""The service that starts, supervises, puts to sleep and removes the sandboxes of this installation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.archives.archives import Archives
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound, StartFailure, Unavailable
from app_server.core.server_objects import from_server
from app_server.core.start_report import Report
from app_server.sandbox_backends.backend import SandboxKind, WorkspaceCapacity
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_lifecycle.admission import Admission, NoCapacityError
from app_server.sandbox_lifecycle.archiving import Archiving
from app_server.sandbox_lifecycle.backups import Backups, Position
from app_server.sandbox_lifecycle.capacity_reservations import CapacityReservations
from app_server.sandbox_lifecycle.disk_quota import DiskQuota
from app_server.sandbox_lifecycle.idle_sleep import Sleep
from app_server.sandbox_lifecycle.machines import Machines, OnAddress, OnChange, OnRestored, log_report
from app_server.sandbox_lifecycle.monitor import Monitor
from app_server.sandbox_lifecycle.running_quota import UP, require_running_quota
from app_server.sandbox_lifecycle.session_keys import SessionKeys
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_records.ownership import Ownership
from app_server.sandbox_records.rows import Rows
from app_server.users.tokens import new_token, token_hash

WAKE_PATIENCE_SECONDS = 20.0
MESSAGE_PATIENCE_SECONDS = 1.0
"""The wait is short, because a message is stored and need not wait for the sandbox."""


class Sandboxes:
    """The interface to sandboxes for other features. There is one object for each process. It delegates the
    work to the classes of sandbox_lifecycle.
    """

    def __init__(self, config: Config, database: Database, cipher: Cipher) -> None:
        self._database = database
        self._cipher = cipher
        self._rows = Rows(config, database)
        archives = Archives(config, database)
        self._machines = Machines(config, self._rows, archives, SessionKeys(config, database, cipher))
        self._sleep = Sleep(config, self._machines, self._rows)
        self._admission = Admission(
            config, self._machines, self._rows, self._sleep, CapacityReservations(database)
        )
        self._disk_quota = DiskQuota(self._machines, self._rows)
        self._monitor = Monitor(self._machines, self._rows, self._admission)
        self.backups = Backups(config, self._machines, self._rows, archives, self._sleep)
        self.archiving = Archiving(config, self._machines, self._rows, archives)
        self.archives = archives
        self._on_return: OnChange | None = None

    def listen(
        self,
        *,
        on_change: OnChange | None = None,
        on_address: OnAddress | None = None,
        on_return: OnChange | None = None,
        on_restored: OnRestored | None = None,
        position: Position | None = None,
    ) -> None:
        """Sets the functions that are called when the state of a sandbox changes. All of them are awaited.

        `on_change(sandbox_id)`: a sandbox stopped, came back, or was given up. `position(sandbox_id)`:
        returns the last position in the conversation logs of the sandbox. `on_restored(running, backup)`: a
        sandbox was restored from a backup; called before other code can use the sandbox, because the logs in
        it are as old as the backup. `on_return(sandbox_id)`: an archived sandbox is to be brought back.
        `on_address(addresses)`: a missing engine has become available; the inner listener must answer on
        these addresses before a sandbox starts. Raises StartFailure if the listener cannot.
        """
        self._machines.on_change = on_change or self._machines.on_change
        self._machines.on_address = on_address or self._machines.on_address
        self._on_return = on_return or self._on_return
        self._machines.on_restored = on_restored or self._machines.on_restored
        self.backups.position = position or self.backups.position

    async def open(self) -> None:
        """Chooses the backend. If the configured container engine is missing, this call succeeds and each
        start of a sandbox fails.
        """
        await self._machines.open()

    async def close(self) -> None:
        """Ends the machines that cannot run without this process.

        The status of their sandboxes stays RUNNING, so that they are started again at the server's next
        start.
        """
        await self._machines.close()

    @property
    def server_id(self) -> str | None:
        """Returns the id of the server to which new process sandboxes belong.

        Returns None if only this server uses the database.
        """
        return self._rows.ownership.server_id

    @property
    def ownership(self) -> Ownership:
        return self._rows.ownership

    def describe(self) -> SandboxKind:
        return self._machines.backend.kind

    def workspace_limit(self) -> WorkspaceCapacity:
        return self._machines.backend.workspace_limit

    def inner_addresses(self) -> list[str]:
        """Returns the addresses on which the inner listener (the app server's port for sandboxes) must
        answer. Call it after `open`.
        """
        return self._machines.backend.inner_addresses()

    async def create(
        self,
        session: AsyncSession,
        *,
        sandbox_id: UUID,
        user_id: UUID,
        snapshot_id: UUID | None = None,
        base_image: str | None = None,
        runtime_plugins: Sequence[str] | None = None,
    ) -> Sandbox:
        """Adds a new sandbox to the caller's transaction. The sandbox is not started yet.

        `snapshot_id`: the snapshot from which its workspace begins. `base_image`: the base of its image, if
        the user has chosen one. `runtime_plugins`: the plugins that it offers; None means all plugins of the
        image.
        """
        key = new_token()
        sandbox = Sandbox(
            id=sandbox_id,
            user_id=user_id,
            status=SandboxStatus.STARTING,
            session_key_hash=token_hash(key),
            encrypted_session_key=self._cipher.encrypt(key),
            spec_id=(backend := self._machines.backend.kind.backend),
            server_id=self.server_id if backend == PROCESS else None,
            seals_specs=True,
            archive_id=snapshot_id,
            base_image=base_image,
            runtime_plugins=None if runtime_plugins is None else [*runtime_plugins],
        )
        session.add(sandbox)
        await session.flush()
        return sandbox

    async def bring_up(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        """Starts the sandbox, or finds the running one, and returns it when its agent server answers.

        Progress lines are passed to `report`; if memory is short, also the position in the queue. Raises
        StartFailure (then the sandbox's status is ERROR, or MISSING if its host is lost), and NotFound if
        there is no such sandbox. The call may be repeated.
        """
        return await self._bring_up(sandbox_id, report)

    async def _bring_up(
        self, sandbox_id: UUID, report: Report, patience_seconds: float | None = None
    ) -> RunningSandbox:
        try:
            async with self._admission.reservation(sandbox_id, report, patience_seconds):
                return await self._machines.start(sandbox_id, report)
        except StartFailure as failure:
            is_lost = failure.code == "sandbox_host_lost"
            status = SandboxStatus.MISSING if is_lost else SandboxStatus.ERROR
            await self._rows.save(sandbox_id, status, failure=failure)
            raise

    def is_waiting(self, sandbox_id: UUID) -> bool:
        """Returns whether a start of this sandbox waits for memory."""
        return self._admission.is_waiting(sandbox_id)

    @contextmanager
    def keep_up(self, sandbox_id: UUID) -> Iterator[None]:
        """Keeps the sandbox from falling asleep during the block. Used for work in the sandbox before its
        conversation exists.
        """
        self._machines.kept_up[sandbox_id] += 1
        try:
            yield
        finally:
            self._machines.kept_up -= Counter([sandbox_id])

    def client(self, sandbox_id: UUID) -> AgentClient:
        """Returns the client of the sandbox's agent server. Raises the errors of `running`."""
        return self.running(sandbox_id).client

    def running(self, sandbox_id: UUID) -> RunningSandbox:
        """Returns the running sandbox and the client of its agent server.

        Raises Conflict (`sandbox_not_running`) or Unavailable (`sandbox_on_other_server`).
        """
        if running := self._machines.running.get(sandbox_id):
            return running
        if sandbox_id in self._machines.elsewhere:
            raise self._rows.ownership.refusal()
        raise Conflict(
            "The sandbox does not run at the moment.",
            code="sandbox_not_running",
            fix="If it sleeps, send a message to wake it. If it is starting, try again in a moment.",
        )

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the sandbox's machine, workspace and database row. Does nothing if there is no such
        sandbox.

        Raises Unavailable if the container engine does not answer. Then the row stays, and the call can be
        repeated later.
        """
        self._admission.drop(sandbox_id)
        try:
            await self._machines.delete(sandbox_id)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        self._monitor.forgive(sandbox_id)

    async def check(self) -> None:
        """Runs one round of the monitor, which restarts sandboxes in the background that should run but do
        not.
        """
        await self._monitor.check()

    async def pause(self, sandbox_id: UUID) -> None:
        """Pauses the sandbox's machine until the sandbox is woken. Raises NotFound or Unavailable."""
        await self._sleep.pause(sandbox_id)

    async def rest(self) -> None:
        """Runs one round of the background task that puts idle sandboxes to sleep and ends the machines of
        sandboxes that have slept for long.
        """
        await self._sleep.rest()

    async def measure(self) -> None:
        """Runs one round of the background task that stops sandboxes whose workspace is too large, if no disk
        limits workspaces.
        """
        await self._disk_quota.look()

    async def wake(self, sandbox_id: UUID) -> None:
        """Starts a sleeping sandbox and waits until it runs. Does nothing for other sandboxes.

        Raises Unavailable. If memory is short, the code is `sandbox_waits`, and the sandbox starts by itself
        later.
        """
        try:
            await self._wake(sandbox_id, WAKE_PATIENCE_SECONDS)
        except NoCapacityError as crowded:
            await self.resume(sandbox_id)
            raise Unavailable(
                str(crowded), code="sandbox_waits", fix="It is in the queue. Try again when it has started."
            ) from crowded

    async def is_awake(self, sandbox_id: UUID) -> bool:
        """Wakes a sleeping sandbox if there is memory for it. Returns False while the caller should wait for
        the sandbox.

        Also returns True for a sandbox that failed or is deleted. Raises Unavailable, TooManyRequests
        `quota_reached`.
        """
        try:
            await self._wake(sandbox_id, MESSAGE_PATIENCE_SECONDS, has_quota=True)
        except NoCapacityError:
            return False
        sandbox = await self._rows.find(sandbox_id)
        gave_up = sandbox is None or sandbox.status in {SandboxStatus.ERROR, SandboxStatus.MISSING}
        return gave_up or sandbox_id in self._machines.running

    async def require_quota(self, sandbox_id: UUID) -> None:
        """Checks that the quotas of the user allow a sandbox that does not run to start now. Raises
        TooManyRequests `quota_reached`.
        """
        async with self._database.read() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is not None and sandbox.status not in UP:
                await require_running_quota(session, sandbox.user_id, sandbox_id)

    def leave_queue(self, sandbox_id: UUID) -> None:
        """Removes the sandbox from the queue of sandboxes that wait for memory."""
        self._admission.drop(sandbox_id)

    async def _wake(self, sandbox_id: UUID, patience_seconds: float, *, has_quota: bool = False) -> None:
        """Starts a sleeping sandbox. has_quota: the quotas of running sandboxes apply.

        Raises NoCapacityError if memory is short, Unavailable, or TooManyRequests `quota_reached`.
        """
        sandbox = await self._rows.find(sandbox_id)
        if sandbox is None:
            return
        self._rows.ownership.require(sandbox)
        if sandbox.status != SandboxStatus.PAUSED:
            return
        if has_quota:
            await self.require_quota(sandbox_id)
        try:
            await self._bring_up(sandbox_id, log_report(sandbox_id), patience_seconds)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        await self._machines.changed(sandbox_id)

    async def resume(self, sandbox_id: UUID, *, from_backup: bool = False) -> None:
        """Starts a sandbox that sleeps, is archived or has failed, in the background.

        A sandbox whose host is lost starts on another host from its last backup; with `from_backup` even if
        that is older than the log. Raises NotFound if there is no such sandbox, and Conflict like
        Backups.go_on_elsewhere.
        """
        if await self._machines.backend.find_lost([sandbox_id]):
            await self.backups.go_on_elsewhere(sandbox_id, from_backup=from_backup)
        async with self._database.session() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None:
                raise NotFound("No such sandbox.")
            self._rows.ownership.require(sandbox)
            if sandbox.status in {SandboxStatus.ERROR, SandboxStatus.PAUSED, SandboxStatus.MISSING}:
                sandbox.status, sandbox.error = SandboxStatus.RUNNING, None
        self._monitor.forgive(sandbox_id)
        if sandbox.status == SandboxStatus.ARCHIVED and self._on_return:
            await self._on_return(sandbox_id)


ServerSandboxes = Annotated[Sandboxes, from_server("sandboxes")]
