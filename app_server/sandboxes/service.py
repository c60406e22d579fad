"""The sandboxes of this installation: brought up, kept up, put to sleep, removed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.archives.archives import Archives
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound, StartFailure, Unavailable
from app_server.core.start_report import Report
from app_server.sandbox_backends.backend import SandboxKind, WorkspaceCapacity
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_lifecycle.admission import Admission, Crowded
from app_server.sandbox_lifecycle.archiving import Archiving
from app_server.sandbox_lifecycle.backups import Backups, Position
from app_server.sandbox_lifecycle.capacity_reservations import CapacityReservations
from app_server.sandbox_lifecycle.disk_quota import Watch
from app_server.sandbox_lifecycle.idle_sleep import Sleep
from app_server.sandbox_lifecycle.machines import Machines, OnAddress, OnChange, OnRestored, log_report
from app_server.sandbox_lifecycle.monitor import Monitor
from app_server.sandbox_lifecycle.session_keys import SessionKeys
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_records.ownership import Ownership
from app_server.sandbox_records.rows import Rows
from app_server.users.tokens import new_token, token_hash

WAKE_PATIENCE_SECONDS = 20.0
MESSAGE_PATIENCE_SECONDS = 1.0
"""A message need not be waited with: it is kept."""


class Sandboxes:
    """One per process. What callers need of sandboxes; the work is done by what it is made of."""

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
        self._watch = Watch(self._machines, self._rows)
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
        """`on_change(sandbox_id)` is awaited when one stopped, came back, or was given up.

        `position(sandbox_id)`: how far the log of what it holds has come.

        `on_restored(running, backup)` is awaited when one was laid out from a backup, before anybody else
        finds it: its logs are as old as that.

        `on_return(sandbox_id)` is awaited when one in an archive is to be brought back.

        `on_address(addresses)` is awaited when an engine that was absent came: the inner listener has to
        answer there before any sandbox starts. It raises StartFailure when it cannot.
        """
        self._machines.on_change = on_change or self._machines.on_change
        self._machines.on_address = on_address or self._machines.on_address
        self._on_return = on_return or self._on_return
        self._machines.on_restored = on_restored or self._machines.on_restored
        self.backups.position = position or self.backups.position

    async def open(self) -> None:
        """Chooses the backend. An engine that is asked for by name but absent fails each start, not this."""
        await self._machines.open()

    async def close(self) -> None:
        """Ends the machines that need this process. Their rows stay RUNNING: the next start revives them."""
        await self._machines.close()

    @property
    def server_id(self) -> str | None:
        """Whose the process sandboxes are that are made here; None: no other server is on the database."""
        return self._rows.ownership.server_id

    @property
    def ownership(self) -> Ownership:
        return self._rows.ownership

    def describe(self) -> SandboxKind:
        return self._machines.backend.kind

    def workspace_limit(self) -> WorkspaceCapacity:
        return self._machines.backend.workspace_limit

    def inner_addresses(self) -> list[str]:
        """Addresses on which the inner listener has to answer. Call after `open`."""
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
        """A new sandbox that is to be brought up; belongs to the caller's transaction.

        `snapshot_id`: what its workspace begins from. `base_image`: what its image is built on, if its user
        has chosen that. `runtime_plugins`: which it offers; None: all that the image has.
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
        """The sandbox with its agent server answering: adopted when it runs, started otherwise.

        What it waits for goes to `report`, also its place in line when memory is short. Raises StartFailure
        (the sandbox is in ERROR then) and NotFound when there is no such sandbox. May be called again at any
        time.
        """
        return await self._bring_up(sandbox_id, report)

    async def _bring_up(
        self, sandbox_id: UUID, report: Report, patience_seconds: float | None = None
    ) -> RunningSandbox:
        try:
            async with self._admission.place(sandbox_id, report, patience_seconds):
                return await self._machines.start(sandbox_id, report)
        except StartFailure as failure:
            is_lost = failure.code == "sandbox_host_lost"
            status = SandboxStatus.MISSING if is_lost else SandboxStatus.ERROR
            await self._rows.save(sandbox_id, status, failure=failure)
            raise

    def is_waiting(self, sandbox_id: UUID) -> bool:
        """Whether a start of it waits for memory."""
        return self._admission.is_waiting(sandbox_id)

    @contextmanager
    def keep_up(self, sandbox_id: UUID) -> Iterator[None]:
        """It does not fall asleep for as long as this lasts: what works in it is no conversation yet."""
        self._machines.kept_up[sandbox_id] += 1
        try:
            yield
        finally:
            self._machines.kept_up -= Counter([sandbox_id])

    def client(self, sandbox_id: UUID) -> AgentClient:
        """Raises Conflict (`sandbox_not_running`)."""
        return self.running(sandbox_id).client

    def running(self, sandbox_id: UUID) -> RunningSandbox:
        """Raises Conflict (`sandbox_not_running`), Unavailable (`sandbox_on_other_server`)."""
        if running := self._machines.running.get(sandbox_id):
            return running
        if sandbox_id in self._machines.elsewhere:
            raise self._rows.ownership.refusal()
        raise Conflict(
            "The sandbox does not run at the moment.",
            code="sandbox_not_running",
            fix="If it sleeps, send a message: that wakes it. Else it is on its way: try again in a moment.",
        )

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine, its workspace and its row; nothing happens when there is none.

        Raises Unavailable when the engine does not answer: the row stays, to be deleted later.
        """
        self._admission.drop(sandbox_id)
        try:
            await self._machines.delete(sandbox_id)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        self._monitor.forgive(sandbox_id)

    async def check(self) -> None:
        """One round of the monitor: brings up again what ought to run and does not, in the background."""
        await self._monitor.check()

    async def pause(self, sandbox_id: UUID) -> None:
        """Halts the machine until it wakes. Raises NotFound, Unavailable."""
        await self._sleep.pause(sandbox_id)

    async def rest(self) -> None:
        """One round of putting idle ones to sleep, and of ending those that sleep for long."""
        await self._sleep.rest()

    async def measure(self) -> None:
        """One round of stopping those that hold more than they may, where no disk keeps them from it."""
        await self._watch.look()

    async def wake(self, sandbox_id: UUID) -> None:
        """Brings up one that sleeps, and waits for it; nothing happens to others.

        Raises Unavailable, `sandbox_waits` when there is no memory for it soon: it starts by itself then.
        """
        try:
            await self._wake(sandbox_id, WAKE_PATIENCE_SECONDS)
        except Crowded as crowded:
            await self.resume(sandbox_id)
            raise Unavailable(
                str(crowded), code="sandbox_waits", fix="It starts in its turn. Try again then."
            ) from crowded

    async def is_awake(self, sandbox_id: UUID) -> bool:
        """Wakes one that sleeps if there is memory for it. False: it is not up yet, and can be waited for.

        Raises Unavailable.
        """
        try:
            await self._wake(sandbox_id, MESSAGE_PATIENCE_SECONDS)
        except Crowded:
            return False
        sandbox = await self._rows.find(sandbox_id)
        gave_up = sandbox is None or sandbox.status in {SandboxStatus.ERROR, SandboxStatus.MISSING}
        return gave_up or sandbox_id in self._machines.running

    def leave_line(self, sandbox_id: UUID) -> None:
        """Nothing has to wait for memory for it any more."""
        self._admission.drop(sandbox_id)

    async def _wake(self, sandbox_id: UUID, patience_seconds: float) -> None:
        """Raises Crowded, Unavailable."""
        sandbox = await self._rows.find(sandbox_id)
        if sandbox is None:
            return
        self._rows.ownership.require(sandbox)
        if sandbox.status != SandboxStatus.PAUSED:
            return
        try:
            await self._bring_up(sandbox_id, log_report(sandbox_id), patience_seconds)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        await self._machines.changed(sandbox_id)

    async def resume(self, sandbox_id: UUID, *, from_backup: bool = False) -> None:
        """Lets a sandbox run again that sleeps, lies in an archive or was given up, in the background.

        One whose host is lost goes on elsewhere from its last backup; from_backup: also where that is older
        than the log. Raises NotFound when there is none, Conflict as Backups.go_on_elsewhere.
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
