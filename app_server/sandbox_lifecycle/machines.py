"""Starts, ends and removes the machines of this installation's sandboxes. A machine is the container or
process in which a sandbox runs. Each sandbox has a lock, so that only one task at a time changes its machine.

monitor.py, idle_sleep.py and the Sandboxes service use this module. The database row of a sandbox stores the
state that its machine should have, such as running or paused.
"""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx

from app_server.agent_client.bounded_replies import BoundedTransport
from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.archives.archives import Archives
from app_server.core.background import Background, finish
from app_server.core.config import Config
from app_server.core.errors import AppError, NotFound, StartFailure
from app_server.core.start_report import Report
from app_server.http.certificates import public_authorities
from app_server.sandbox_backends.backend import Backend
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandbox_backends.remote.tls import trust_of_hosts
from app_server.sandbox_backends.selection import choose_backend
from app_server.sandbox_lifecycle.session_keys import NewSessionKey, SessionKeys
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.sandbox_records.rows import Rows, kind_of

logger = logging.getLogger(__name__)

HEALTH_POLL_SECONDS = 0.05
SILENT_SECONDS = 60.0
"""An agent server that has not answered for this many seconds counts as frozen (unable to continue), even if
its process runs.
"""

OnChange = Callable[[UUID], Awaitable[None]]
OnAddress = Callable[[list[str]], Awaitable[None]]
OnRestored = Callable[[RunningSandbox, Archive], Awaitable[None]]


class Machines:
    """The service that starts, ends and removes the machines of sandboxes. A machine is the container or
    process of a sandbox.

    `backend`: the sandbox backend, which the method `open` sets according to the configuration. `running`:
    the sandboxes whose agent server has answered this process. `keep_awake_counts`: the sandboxes that must
    not be put to sleep even if they are idle. The value is the number of tasks for which the sandbox must
    stay awake.
    """

    def __init__(self, config: Config, rows: Rows, archives: Archives, keys: SessionKeys) -> None:
        self._config = config
        self._rows = rows
        self._archives = archives
        self.keys = keys
        # Ignores a proxy in the environment, because sandboxes are in the local network. No limit on
        # connections, because each conversation may run a command.
        self.http = httpx.AsyncClient(
            transport=BoundedTransport(
                httpx.AsyncHTTPTransport(
                    verify=trust_of_hosts(config) or public_authorities(),
                    limits=httpx.Limits(max_connections=None),
                )
            )
        )
        self.backend: Backend = ProcessBackend(config)
        self.is_absent = False
        self._arrival = asyncio.Lock()
        self.background = Background()
        self.running: dict[UUID, RunningSandbox] = {}
        self.locks: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.deleting: set[UUID] = set()
        self.elsewhere: set[UUID] = set()
        """The ids of the sandboxes that belong to other app servers on the same database. Each round of the
        monitor (monitor.py) updates this set.
        """
        self.keep_awake_counts: Counter[UUID] = Counter()
        self.held: set[UUID] = set()
        """The ids of the sandboxes that this app server has paused for a short time, for example to copy
        their files. The monitor (monitor.py) does not restart these sandboxes.
        """
        self.on_change: OnChange | None = None
        self.on_address: OnAddress | None = None
        self.on_restored: OnRestored | None = None

    async def open(self) -> None:
        """Chooses the sandbox backend according to the configuration. Raises no error if the configured
        container engine is absent. In that case, each start of a sandbox tries to connect to the engine
        again.
        """
        self.backend, self.is_absent = await choose_backend(self._config)
        if not self.is_absent:
            await self._secure()

    async def close(self) -> None:
        await self.background.close()
        await self.backend.close()
        await self.http.aclose()

    async def await_engine(self) -> None:
        """Tries again to connect to a container engine that was absent when the server started. Does nothing
        if the engine is already in use. Raises StartFailure if the engine is still absent.
        """
        async with self._arrival:
            if not self.is_absent:
                return
            await self.backend.open()
            if self.on_address:
                await self.on_address(self.backend.inner_addresses())
            self.is_absent = False
            logger.info("the engine of the sandboxes has come")
            await self._secure()

    async def start(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        """Starts the sandbox's container or process, waits until the agent server in it answers, and returns
        the running sandbox. `report`: a function that is called with lines about the progress. Raises
        StartFailure if the sandbox does not start. Raises NotFound if there is no such sandbox.
        """
        await self.await_engine()
        # Without the lock: to build an image may take minutes, and a deletion need not wait for it.
        base = self._rows.base_of(await self.require(sandbox_id))
        await self.backend.prepare(report, base, sandbox_id)
        self.background.start(self._examine(), name="examine the walls")
        async with self.locks[sandbox_id]:
            return await self._start(sandbox_id, report)

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the sandbox's container or process, workspace, archive files and database row. Does nothing
        if there is no such sandbox.

        Raises StartFailure if the sandbox backend (such as Docker) fails. Raises Unavailable if the sandbox
        belongs to another app server that still runs.
        """
        self.deleting.add(sandbox_id)
        try:
            sandbox = await self._rows.find(sandbox_id)
            # If the row names no server, no other server will remove it. A lost server removes nothing.
            if sandbox and sandbox.server_id and not await self._rows.has_lost_server(sandbox):
                self._rows.ownership.require(sandbox)
            async with self.locks[sandbox_id]:
                self.lose(sandbox_id)
                await self.backend.delete(sandbox_id)
                await self._rows.delete(sandbox_id)
                await self.backend.forget(sandbox_id)
                self.keys.forget(sandbox_id)
                await self._archives.remove_all(sandbox_id)
        finally:
            self.deleting.discard(sandbox_id)
        self.locks.pop(sandbox_id, None)

    def lose(self, sandbox_id: UUID) -> None:
        """Removes the sandbox from `running`, and ends all calls that still wait for an answer of the
        sandbox's agent server. Used when the sandbox's container or process has ended or is about to end.
        """
        if running := self.running.pop(sandbox_id, None):
            running.client.end_calls()

    async def renew_key(self, sandbox_id: UUID) -> None:
        """Replaces the session key of a running sandbox if half of the key's lifetime has passed. The sandbox
        and the app server authenticate to each other with this key. If the agent server does not answer, a
        later call tries again. Raises NotFound if there is no such sandbox.
        """
        async with self.locks[sandbox_id]:
            running = self.running.get(sandbox_id)
            if running is None or not self.keys.is_due(sandbox_id):
                return
            new_key = await self.keys.prepare_key(sandbox_id)
            if await self.keys.hand_over(sandbox_id, new_key, running.client) == "refused":
                # Another server answers at this address. The monitor will start the sandbox again.
                self.running.pop(sandbox_id)

    async def require(self, sandbox_id: UUID) -> Sandbox:
        """Returns the database row of the sandbox. Raises NotFound if there is no such sandbox or if it is
        being deleted. Raises Unavailable if the sandbox belongs to another app server.
        """
        sandbox = await self._rows.find(sandbox_id)
        if sandbox is None or sandbox_id in self.deleting:
            raise NotFound("No such sandbox.")
        self._rows.ownership.require(sandbox)
        return sandbox

    async def why_dead(self, sandbox_id: UUID) -> StartFailure:
        words = await self.backend.last_words(sandbox_id)
        return StartFailure(words.code, words.cause, fix=words.fix, output=words.output)

    async def changed(self, sandbox_id: UUID) -> None:
        if self.on_change:
            await self.on_change(sandbox_id)

    async def _secure(self) -> None:
        await self.backend.secure()
        self.background.start(self._examine(), name="examine the walls")

    async def _examine(self) -> None:
        try:
            await self.backend.examine()
        except StartFailure as failure:
            logger.warning("walls cannot be examined", extra={"cause": failure.cause, "fix": failure.fix})

    async def _start(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        sandbox = await self.require(sandbox_id)
        if kind_of(sandbox.spec_id) != self.backend.kind.backend:
            # The other backend would start an empty sandbox, and the conversation would be lost.
            raise StartFailure(
                "sandbox_of_other_kind",
                f"The workspace of this conversation lies in a sandbox of another kind ({sandbox.spec_id}).",
                fix="Start Slipway with the SLIPWAY_SANDBOX that it was started with.",
            )
        backup = await self._lay_out(sandbox, report)
        if running := self.running.get(sandbox_id):
            if await running.client.is_healthy():
                await self._rows.save(sandbox_id, SandboxStatus.RUNNING)
                return running
            if await self._is_frozen(running):
                await self._end_silent(sandbox_id)
        running = await self._start_machine(sandbox, report, backup)
        if running is None:
            # Another server has replaced the key, for example if this server's database was restored.
            logger.warning("an agent server takes none of its keys", extra={"sandbox_id": sandbox_id.hex})
            await finish(self.backend.stop(sandbox_id))
            running = await self._start_machine(sandbox, report, backup)
        if running is None:
            raise StartFailure(
                "sandbox_start_failed",
                "The agent server does not accept the session key that it was started with.",
                fix="See that it runs the agent server of this version: `slipway images build`.",
                output=(await self.why_dead(sandbox_id)).output,
            )
        self.running[sandbox_id] = running
        return running

    async def end_silent(self, sandbox_id: UUID) -> bool:
        """Ends the sandbox's container or process if its agent server does not answer, and returns True.
        Returns False and does nothing if the agent server answers or the sandbox does not run.
        """
        async with self.locks[sandbox_id]:
            running = self.running.get(sandbox_id)
            if running is None or await running.client.responds():
                return False
            await self._end_silent(sandbox_id)
            return True

    async def _end_silent(self, sandbox_id: UUID) -> None:
        logger.warning("an agent server runs but does not answer", extra={"sandbox_id": sandbox_id.hex})
        await finish(self.backend.stop(sandbox_id))

    async def _is_frozen(self, running: RunningSandbox) -> bool:
        """Returns whether the sandbox's agent server is frozen: the sandbox's container or process runs, but
        the agent server does not answer for SILENT_SECONDS. Returns False as soon as the agent server answers
        or the container or process has ended.
        """
        deadline = time.monotonic() + SILENT_SECONDS
        while not await running.client.responds():
            if await self.backend.find_dead([running.id]):
                return False
            if time.monotonic() > deadline:
                return True
            await asyncio.sleep(HEALTH_POLL_SECONDS)
        return False

    async def _lay_out(self, sandbox: Sandbox, report: Report) -> Archive | None:
        """Restores the sandbox's workspace from its archive, if the sandbox has an archive.

        Returns the archive if it is a backup (a copy for the case that the sandbox's host cannot be reached).
        The caller needs it, because the conversation logs in a backup may lack later events. Returns None for
        every other archive, and if there is no archive.
        """
        if sandbox.archive_id is None:
            return None
        archive = await self._archives.lay_out(sandbox.id, sandbox.archive_id, self.backend, report)
        return archive if archive.kind == ArchiveKind.BACKUP else None

    async def _catch_up(self, running: RunningSandbox, backup: Archive, report: Report) -> None:
        """Adds missing events to the conversation logs of a sandbox that was restored from a backup. These
        are the events that the app server has received after the backup was made. Must run before other tasks
        can use the sandbox. Raises StartFailure `log_not_restored` if this fails.

        After a failure or an interruption, the next start of the sandbox restores the backup again.
        """
        report("Bringing what was said since then back into its logs")
        try:
            if self.on_restored:
                await self.on_restored(running, backup)
        except AppError as error:
            await finish(self.backend.stop(running.id))
            raise StartFailure(
                "log_not_restored",
                f"The conversation cannot be restored: {error.detail}",
                fix="Resume it to try again: it starts from the backup again.",
            ) from error
        await self._archives.take_up(running.id, backup)

    async def _start_machine(
        self, sandbox: Sandbox, report: Report, backup: Archive | None
    ) -> RunningSandbox | None:
        """Starts the sandbox's container or process, waits until the agent server in it answers, and returns
        the running sandbox. Returns None if the agent server accepts none of the session keys (for calls
        between app server and sandbox) that this app server knows.

        `backup`: the backup from which the workspace was restored; None if it was not restored from a backup.
        """
        sandbox_id = sandbox.id
        new_key = await self.keys.prepare_key(sandbox_id)
        # Not interrupted while the lock is held: a later deletion must find all that was started.
        machine = await finish(self.backend.start(sandbox_id, new_key.first, report, sandbox.base_image))
        before = self.running.get(sandbox_id)
        # The old client is kept if the address is the same, because other code still uses it.
        same = before is not None and before.client.url == machine.url
        client = (
            before.client
            if before and same
            else AgentClient(self.http, machine.url, new_key.key, machine.headers)
        )
        running = RunningSandbox(sandbox_id, machine.working_root, machine.inner_url, client)
        if not await self._is_taken(running, new_key, report):
            return None
        if backup is not None:
            await self._catch_up(running, backup, report)
        await self._rows.save(sandbox_id, SandboxStatus.RUNNING, machine=machine)
        return running

    async def _is_taken(self, sandbox: RunningSandbox, new_key: NewSessionKey, report: Report) -> bool:
        """Sends the new session key to the agent server, again and again until the agent server answers.
        Returns whether the agent server has accepted the key. With this key, the agent server and the app
        server authenticate to each other.

        Raises StartFailure if the agent server does not answer in time, if the sandbox's container or process
        ends, or if the sandbox is deleted.
        """
        outcome = await self.keys.hand_over(sandbox.id, new_key, sandbox.client)
        if outcome == "absent":
            report("Waiting for the agent server")
        seconds = self._config.sandbox_start_timeout_seconds
        deadline = time.monotonic() + seconds
        while outcome == "absent":
            if sandbox.id in self.deleting:
                raise StartFailure("sandbox_start_failed", "The sandbox was deleted.", fix="Start a new one.")
            if await self.backend.find_dead([sandbox.id]):
                raise await self.why_dead(sandbox.id)
            if time.monotonic() > deadline:
                raise StartFailure(
                    "sandbox_start_timeout",
                    f"The agent server did not answer within {seconds:g} seconds.",
                    fix="Retry on a less busy machine, or raise SLIPWAY_SANDBOX_START_TIMEOUT_SECONDS.",
                    output=(await self.why_dead(sandbox.id)).output,
                )
            await asyncio.sleep(HEALTH_POLL_SECONDS)
            outcome = await self.keys.hand_over(sandbox.id, new_key, sandbox.client)
        return outcome == "taken"


def log_report(sandbox_id: UUID) -> Report:
    """Returns a function that writes lines about the progress of a sandbox start to the log. Used for starts
    whose progress is not shown to a user.
    """

    def report(line: str) -> None:
        logger.info("reviving sandbox", extra={"sandbox_id": sandbox_id.hex, "progress": line})

    return report
