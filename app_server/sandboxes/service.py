"""The service that starts, watches, puts to sleep and removes the sandboxes of this installation. Other parts
of the app server use it to work with sandboxes.
"""

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
from app_server.core.errors import HOST_LOST_CODES, Conflict, NotFound, StartFailure, Unavailable
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
"""The maximum time in seconds for which a message waits until there is memory for its sleeping sandbox. The
time is short, because the message is already stored and is delivered later.
"""


class Sandboxes:
    """The service for all sandboxes of this app server. Each process has one object of this class. Its
    methods delegate the work to the classes in the folder sandbox_lifecycle.
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
        """Sets functions of other parts of the app server, which the sandbox service calls and awaits. If an
        argument is None, the function that was set before is kept.

        `on_change(sandbox_id)`: called when a sandbox has stopped, runs again, or has failed and is not
        restarted.

        `on_address(addresses)`: called when a container engine that was missing at the server's start becomes
        available. The function opens the app server's port for sandboxes at these network addresses. It
        raises StartFailure if this is not possible.

        `on_return(sandbox_id)`: called when an archived sandbox must run again. The function begins the
        restore.

        `on_restored(running, backup)`: called after the sandbox `running` was restored from `backup`, before
        the sandbox is used. The function adds the events that are later than the backup to the sandbox's
        event logs.

        `position(sandbox_id)`: returns the total number of events of all conversations in the sandbox. Each
        backup stores this number, so that events after the backup can be counted.
        """
        self._machines.on_change = on_change or self._machines.on_change
        self._machines.on_address = on_address or self._machines.on_address
        self._on_return = on_return or self._on_return
        self._machines.on_restored = on_restored or self._machines.on_restored
        self.backups.position = position or self.backups.position

    async def open(self) -> None:
        """Chooses and opens the backend, such as Docker or processes. If the configured container engine is
        missing, this method does not fail, but each start of a sandbox fails until the engine is available.
        """
        await self._machines.open()

    async def close(self) -> None:
        """Stops the sandboxes that must not run without this app server. These are all sandboxes that run as
        processes. Sandboxes in containers are stopped only if the configuration demands it. The status of
        stopped sandboxes stays RUNNING, so that they are started again when the app server starts.
        """
        await self._machines.close()

    @property
    def server_id(self) -> str | None:
        """The id of this app server; None if no other app server uses the same database. The id is stored
        with each sandbox that runs as a process on this machine, because only this app server can reach such
        a sandbox.
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
        """Returns the network addresses on which the inner listener (the app server's port for sandboxes)
        must accept connections. Must be called after `open`.
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
        """Adds the database row of a new sandbox in the caller's transaction and returns the row. The sandbox
        is not started.

        `snapshot_id`: the snapshot from which the workspace is made; None means an empty workspace.
        `base_image`: the base image that the user has chosen; None means the image in the server's
        configuration. `runtime_plugins`: the runtime plugins (programs such as VS Code) that the sandbox
        offers; None means all plugins of the image.
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
        """Starts the sandbox if it does not run, waits until its agent server answers, and returns the
        running sandbox. If there is not enough memory, first waits in a queue.

        `report`: receives the progress lines and the position in the queue. Raises NotFound if there is no
        such sandbox. Raises StartFailure if the start fails; the sandbox then has the status ERROR, or
        MISSING if its host cannot be reached. The caller can call this method again after an error.
        """
        return await self._bring_up(sandbox_id, report)

    async def _bring_up(
        self, sandbox_id: UUID, report: Report, patience_seconds: float | None = None
    ) -> RunningSandbox:
        try:
            async with self._admission.reservation(sandbox_id, report, patience_seconds):
                return await self._machines.start(sandbox_id, report)
        except StartFailure as failure:
            is_lost = failure.code in HOST_LOST_CODES
            status = SandboxStatus.MISSING if is_lost else SandboxStatus.ERROR
            await self._rows.save(sandbox_id, status, failure=failure)
            raise

    def is_waiting(self, sandbox_id: UUID) -> bool:
        """Returns whether the start of this sandbox waits in the queue for memory."""
        return self._admission.is_waiting(sandbox_id)

    @contextmanager
    def keep_up(self, sandbox_id: UUID) -> Iterator[None]:
        """Prevents the sandbox from being put to sleep while the `with` block runs, even if it is idle. Used
        for work in a sandbox whose conversation does not exist yet.
        """
        self._machines.keep_awake_counts[sandbox_id] += 1
        try:
            yield
        finally:
            self._machines.keep_awake_counts -= Counter([sandbox_id])

    def client(self, sandbox_id: UUID) -> AgentClient:
        """Returns the HTTP client with which the app server calls the agent server of the running sandbox.
        Raises Conflict `sandbox_not_running` if the sandbox does not run. Raises Unavailable
        `sandbox_on_other_server` if the sandbox runs on another app server.
        """
        return self.running(sandbox_id).client

    def running(self, sandbox_id: UUID) -> RunningSandbox:
        """Returns the running sandbox, with the HTTP client for calls to its agent server.

        Raises Conflict `sandbox_not_running` if the sandbox does not run. Raises Unavailable
        `sandbox_on_other_server` if the sandbox runs on another app server.
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
        """Removes the container or process, the workspace and the database row of the sandbox. Does nothing
        if there is no such sandbox.

        Raises Unavailable if the container engine does not answer. The row is then kept, so that the call can
        be repeated later.
        """
        self._admission.drop(sandbox_id)
        try:
            await self._machines.delete(sandbox_id)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        self._monitor.forgive(sandbox_id)

    async def check(self) -> None:
        """Runs one round of the background task that finds sandboxes which should run but do not, and
        restarts them.
        """
        await self._monitor.check()

    async def keep_secure(self) -> None:
        """Runs one round of the background task that sets rules of this machine's packet filter again if
        another program has removed them. The rules keep sandboxes from services of this machine.
        """
        await self._machines.backend.keep_secure()

    async def pause(self, sandbox_id: UUID) -> None:
        """Puts the sandbox to sleep until `wake` or `resume` starts it again. Does nothing if the sandbox is
        archived. Raises NotFound if there is no such sandbox. Raises Unavailable if the container engine does
        not answer.
        """
        await self._sleep.pause(sandbox_id)

    async def rest(self) -> None:
        """Runs one round of the background task that puts idle sandboxes to sleep. The task also ends the
        containers of sandboxes that have slept for a long time, which frees their memory.
        """
        await self._sleep.rest()

    async def measure(self) -> None:
        """Runs one round of the background task that measures the workspaces of running sandboxes and stops
        sandboxes whose workspace is too large. The task does nothing if each workspace is a separate disk
        with a limited size.
        """
        await self._disk_quota.look()

    async def wake(self, sandbox_id: UUID) -> None:
        """Starts a sleeping (paused) sandbox and returns when it runs. Does nothing if the sandbox does not
        sleep or does not exist.

        Raises Unavailable if the start fails. If there is not enough free memory for the sandbox within
        WAKE_PATIENCE_SECONDS, raises Unavailable `sandbox_waits`; the sandbox is then put in a queue and
        starts later.
        """
        try:
            await self._wake(sandbox_id, WAKE_PATIENCE_SECONDS)
        except NoCapacityError as crowded:
            await self.resume(sandbox_id)
            raise Unavailable(
                str(crowded), code="sandbox_waits", fix="It is in the queue. Try again when it has started."
            ) from crowded

    async def is_awake(self, sandbox_id: UUID) -> bool:
        """Returns whether the caller can continue its work with the sandbox. If the sandbox sleeps (is
        paused), first starts it.

        Returns True if the sandbox runs. Also returns True if the sandbox has failed or is deleted, because
        then the caller would wait in vain. Returns False if the sandbox does not run yet, for example because
        there is not enough memory; the caller must then wait and call this method again.

        Raises Unavailable if the start fails. Raises TooManyRequests `quota_reached` if the user or the
        organisation already has the maximum number of running sandboxes.
        """
        try:
            await self._wake(sandbox_id, MESSAGE_PATIENCE_SECONDS, has_quota=True)
        except NoCapacityError:
            return False
        sandbox = await self._rows.find(sandbox_id)
        gave_up = sandbox is None or sandbox.status in {SandboxStatus.ERROR, SandboxStatus.MISSING}
        return gave_up or sandbox_id in self._machines.running

    async def require_quota(self, sandbox_id: UUID) -> None:
        """Checks that the user and the organisation may start this sandbox. Their quotas limit how many
        sandboxes may run at the same time. Raises TooManyRequests `quota_reached` if a quota is reached. Does
        nothing if the sandbox already runs.
        """
        async with self._database.read() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is not None and sandbox.status not in UP:
                await require_running_quota(session, sandbox.user_id, sandbox_id)

    def leave_queue(self, sandbox_id: UUID) -> None:
        """Removes the start of this sandbox from the queue of starts that wait for memory."""
        self._admission.drop(sandbox_id)

    async def _wake(self, sandbox_id: UUID, patience_seconds: float, *, has_quota: bool = False) -> None:
        """Starts a sleeping (paused) sandbox and waits until it runs. Does nothing if the sandbox does not
        sleep or does not exist.

        `patience_seconds`: the maximum time to wait for memory. `has_quota`: if true, the method first checks
        the quotas, which limit how many sandboxes of the user and of the organisation may run.

        Raises NoCapacityError if there is no memory within `patience_seconds`. Raises Unavailable if the
        start fails. Raises TooManyRequests `quota_reached` if `has_quota` is true and a quota is reached.
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
        """Changes the status of a sandbox that sleeps, is archived or has failed. Background tasks then start
        the sandbox. This method returns before the sandbox runs.

        If the host of the sandbox cannot be reached, the sandbox starts on another host from its last backup.
        `from_backup`: whether the backup may be used even if the conversations in the sandbox have events
        that are later than the backup.

        Raises NotFound if there is no such sandbox. Raises Conflict `sandbox_host_lost` if the host cannot be
        reached and there is no backup. Raises Conflict `backup_outdated` if the host cannot be reached, there
        are later events, and `from_backup` is false.
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
