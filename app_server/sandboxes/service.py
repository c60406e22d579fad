"""The sandboxes of this installation: brought up, kept up, removed."""

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import httpx
from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.background import Background, finish
from app_server.config import Config
from app_server.database import Database, now
from app_server.encryption import Cipher
from app_server.errors import Conflict, NotFound, StartFailure, Unavailable
from app_server.sandboxes.agent_client import AgentClient
from app_server.sandboxes.backend import Backend, Machine, Report, SandboxKind
from app_server.sandboxes.choice import choose_backend
from app_server.sandboxes.models import Sandbox, SandboxStatus
from app_server.sandboxes.process import SPEC_ID as PROCESS
from app_server.sandboxes.process import ProcessBackend
from app_server.users.tokens import new_token, token_hash

logger = logging.getLogger(__name__)

MAX_RESTARTS = 5
RESTART_WINDOW_SECONDS = 600.0
HEALTH_POLL_SECONDS = 0.05
CONCURRENT_REVIVALS = 4

OnChange = Callable[[UUID], Awaitable[None]]
OnAddress = Callable[[list[str]], Awaitable[None]]


@dataclass(frozen=True)
class RunningSandbox:
    id: UUID
    working_root: str
    inner_url: str
    """The app server's inner listener as the sandbox reaches it; `INNER_URL/llm/…` is where its LLM is."""
    client: AgentClient
    up_since: float = field(default_factory=time.monotonic)
    """Of the monotonic clock."""


class Sandboxes:
    """One per process. `on_change(sandbox_id)` is awaited when one stopped, came back, or was given up.

    `on_address(addresses)` is awaited when an engine that was absent came: the inner listener has to answer
    there before any sandbox starts. It raises StartFailure when it cannot.
    """

    def __init__(self, config: Config, database: Database, cipher: Cipher) -> None:
        self._config = config
        self._database = database
        self._cipher = cipher
        # Sandboxes are neighbours: a proxy in the environment is for the world outside. And as many commands
        # may be under way as there are conversations.
        self._http = httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=None))
        self._backend: Backend = ProcessBackend(config)
        self._is_absent = False
        self._arrival = asyncio.Lock()
        self._background = Background()
        self._running: dict[UUID, RunningSandbox] = {}
        self._locks: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._deleting: set[UUID] = set()
        self._reviving: set[UUID] = set()
        self._crashes: defaultdict[UUID, deque[float]] = defaultdict(deque)
        self._revival_slots = asyncio.Semaphore(CONCURRENT_REVIVALS)
        self.on_change: OnChange | None = None
        self.on_address: OnAddress | None = None

    async def open(self) -> None:
        """Chooses the backend. An engine that is asked for by name but absent fails each start, not this."""
        self._backend, self._is_absent = await choose_backend(self._config)
        if not self._is_absent:
            await self._secure()

    async def _secure(self) -> None:
        await self._backend.secure()
        self._background.start(self._examine(), name="examine the walls")

    def describe(self) -> SandboxKind:
        return self._backend.kind

    def inner_addresses(self) -> list[str]:
        """Addresses on which the inner listener has to answer. Call after `open`."""
        return self._backend.inner_addresses()

    async def create(self, session: AsyncSession, *, sandbox_id: UUID, user_id: UUID) -> Sandbox:
        """A new sandbox that is to be brought up; belongs to the caller's transaction."""
        key = new_token()
        sandbox = Sandbox(
            id=sandbox_id,
            user_id=user_id,
            status=SandboxStatus.STARTING,
            session_key_hash=token_hash(key),
            encrypted_session_key=self._cipher.encrypt(key),
            spec_id=self._backend.kind.backend,
        )
        session.add(sandbox)
        await session.flush()
        return sandbox

    async def bring_up(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        """The sandbox with its agent server answering: adopted when it runs, started otherwise.

        What it waits for goes to `report`. Raises StartFailure (the sandbox is in ERROR then) and NotFound
        when there is no such sandbox. May be called again at any time.
        """
        try:
            return await self._start(sandbox_id, report)
        except StartFailure as failure:
            await self._save(sandbox_id, SandboxStatus.ERROR, failure=failure)
            raise

    def client(self, sandbox_id: UUID) -> AgentClient:
        """Raises Conflict (`sandbox_not_running`)."""
        return self.running(sandbox_id).client

    def running(self, sandbox_id: UUID) -> RunningSandbox:
        """Raises Conflict (`sandbox_not_running`)."""
        if running := self._running.get(sandbox_id):
            return running
        raise Conflict(
            "The sandbox does not run at the moment.",
            code="sandbox_not_running",
            fix="If it sleeps, send a message: that wakes it. Else it is on its way: try again in a moment.",
        )

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine, its workspace and its row; nothing happens when there is none.

        Raises Unavailable when the engine does not answer: the row stays, to be deleted later.
        """
        self._deleting.add(sandbox_id)
        try:
            async with self._locks[sandbox_id]:
                self._running.pop(sandbox_id, None)
                await self._backend.delete(sandbox_id)
                async with self._database.session() as session:
                    if sandbox := await session.get(Sandbox, sandbox_id):
                        await session.delete(sandbox)
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        finally:
            self._deleting.discard(sandbox_id)
        self._locks.pop(sandbox_id, None)
        self._crashes.pop(sandbox_id, None)

    async def check(self) -> None:
        """One round of the monitor: brings up again what ought to run and does not, in the background."""
        try:
            await self._await_engine()
        except StartFailure:
            return  # whoever starts one is told
        known_before = set(self._running)
        async with self._database.read() as session:
            query = select(Sandbox.id).where(Sandbox.status == SandboxStatus.RUNNING, self._is_of_this_kind())
            wanted = set((await session.execute(query)).scalars())
        await self._forget(known_before - wanted)
        quiet = wanted - self._reviving - self._deleting
        known = {sandbox_id for sandbox_id in quiet if sandbox_id in self._running}
        try:
            dead = await self._backend.find_dead(known) if known else set()
        except StartFailure as failure:
            # The engine itself is away. Its sandboxes may be well: wait for it rather than count them dead.
            logger.warning("sandboxes cannot be checked", extra={"cause": failure.cause})
            return
        for sandbox_id in dead | (quiet - known):
            self._reviving.add(sandbox_id)
            self._background.start(self._revive(sandbox_id, died=sandbox_id in dead), name="revive sandbox")

    async def _await_engine(self) -> None:
        """Looks again for an engine that was absent when this started. Raises StartFailure if it still is."""
        async with self._arrival:
            if not self._is_absent:
                return
            await self._backend.open()
            if self.on_address:
                await self.on_address(self._backend.inner_addresses())
            self._is_absent = False
            logger.info("the engine of the sandboxes has come")
            await self._secure()

    async def _forget(self, sandbox_ids: set[UUID]) -> None:
        """Those that were put to sleep or removed by somebody else, like `slipway sandboxes stop`."""
        for sandbox_id in sandbox_ids:
            self._running.pop(sandbox_id, None)
            await self._changed(sandbox_id)

    async def pause(self, sandbox_id: UUID) -> None:
        """Halts the machine until it wakes. Raises NotFound, Unavailable."""
        await self._require(sandbox_id)
        async with self._locks[sandbox_id]:
            self._running.pop(sandbox_id, None)
            await self._save(sandbox_id, SandboxStatus.PAUSED)
            try:
                await self._backend.freeze(sandbox_id)
            except StartFailure as failure:
                raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        await self._changed(sandbox_id)

    async def rest(self) -> None:
        """Puts those to sleep that had nothing to do for longer than the configuration lets them stay up.

        Of those that sleep, ends the machines that have held their memory for longer than it lets them.
        """
        await self._end_long_frozen()
        limit = self._config.sandbox_idle_minutes
        for running in list(self._running.values()) if limit else []:
            idle = await running.client.idle_seconds()
            # Its own clock went on while it slept.
            up = time.monotonic() - running.up_since
            if limit and idle is not None and min(idle, up) > limit * 60:
                logger.info("an idle sandbox is put to sleep", extra={"sandbox_id": running.id.hex})
                await self.pause(running.id)

    async def _end_long_frozen(self) -> None:
        if self._is_absent:
            return
        try:
            frozen = await self._backend.find_frozen()
            for sandbox_id in await self._long_asleep(frozen) if frozen else []:
                async with self._locks[sandbox_id]:
                    if await self._long_asleep([sandbox_id]):  # and not woken meanwhile
                        logger.info("a halted sandbox is ended", extra={"sandbox_id": sandbox_id.hex})
                        await self._backend.stop(sandbox_id)
        except StartFailure as failure:
            logger.warning("halted sandboxes cannot be ended", extra={"cause": failure.cause})

    async def _long_asleep(self, sandbox_ids: Collection[UUID]) -> list[UUID]:
        since = now() - timedelta(minutes=self._config.sandbox_frozen_minutes)
        query = select(Sandbox.id).where(
            Sandbox.id.in_(sandbox_ids), Sandbox.status == SandboxStatus.PAUSED, Sandbox.updated_at < since
        )
        async with self._database.read() as session:
            return list((await session.execute(query)).scalars())

    async def wake(self, sandbox_id: UUID) -> None:
        """Brings up one that sleeps, and waits for it; nothing happens to others. Raises Unavailable."""
        async with self._database.read() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
        if sandbox is None or sandbox.status != SandboxStatus.PAUSED:
            return
        try:
            await self.bring_up(sandbox_id, _log_report(sandbox_id))
        except StartFailure as failure:
            raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
        await self._changed(sandbox_id)

    async def resume(self, sandbox_id: UUID) -> None:
        """Lets a sandbox run again that sleeps or was given up: the monitor's next round brings it up.

        Raises NotFound when there is none.
        """
        async with self._database.session() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None:
                raise NotFound("No such sandbox.")
            if sandbox.status in {SandboxStatus.ERROR, SandboxStatus.PAUSED}:
                sandbox.status, sandbox.error = SandboxStatus.RUNNING, None
        self._crashes.pop(sandbox_id, None)

    async def close(self) -> None:
        """Ends the machines that need this process. Their rows stay RUNNING: the next start revives them."""
        await self._background.close()
        await self._backend.close()
        await self._http.aclose()

    async def _start(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        await self._await_engine()
        # Outside of the lock: an image may take minutes, and a delete need not wait for it.
        await self._backend.prepare(report)
        self._background.start(self._examine(), name="examine the walls")
        async with self._locks[sandbox_id]:
            return await self._start_machine(sandbox_id, report)

    async def _start_machine(self, sandbox_id: UUID, report: Report) -> RunningSandbox:
        sandbox = await self._require(sandbox_id)
        if (sandbox.spec_id == PROCESS) != (self._backend.kind.backend == PROCESS):
            # Brought up by the other backend it would be an empty one, and its conversation lost.
            raise StartFailure(
                "sandbox_start_failed",
                f"The workspace of this conversation lies in a sandbox of another kind ({sandbox.spec_id}).",
                fix="Start Slipway with the SLIPWAY_SANDBOX that it was started with.",
            )
        session_key = self._cipher.decrypt(sandbox.encrypted_session_key)
        # To its end, with the lock held: a delete that follows must find all that was begun.
        machine = await finish(self._backend.start(sandbox_id, session_key, report))
        client = AgentClient(self._http, machine.url, session_key)
        running = RunningSandbox(sandbox_id, machine.working_root, machine.inner_url, client)
        if not await client.is_healthy():
            report("Waiting for the agent server")
            await self._await_health(running)
        await self._save(sandbox_id, SandboxStatus.RUNNING, machine=machine)
        self._running[sandbox_id] = running
        return running

    async def _await_health(self, sandbox: RunningSandbox) -> None:
        seconds = self._config.sandbox_start_timeout_seconds
        deadline = time.monotonic() + seconds
        while not await sandbox.client.is_healthy():
            if sandbox.id in self._deleting:
                raise StartFailure("sandbox_start_failed", "The sandbox was deleted.", fix="Start a new one.")
            if await self._backend.find_dead([sandbox.id]):
                raise await self._why_dead(sandbox.id)
            if time.monotonic() > deadline:
                raise StartFailure(
                    "sandbox_start_timeout",
                    f"The agent server did not answer within {seconds:g} seconds.",
                    fix="Retry on a less busy machine, or raise SLIPWAY_SANDBOX_START_TIMEOUT_SECONDS.",
                    output=(await self._why_dead(sandbox.id)).output,
                )
            await asyncio.sleep(HEALTH_POLL_SECONDS)

    async def _revive(self, sandbox_id: UUID, *, died: bool) -> None:
        try:
            if died:
                self._running.pop(sandbox_id, None)
                await self._changed(sandbox_id)
                if await self._gave_up(sandbox_id, await self._why_dead(sandbox_id)):
                    return
            async with self._revival_slots:
                if not await self._ought_to_run(sandbox_id):
                    return  # put to sleep meanwhile
                await self._start(sandbox_id, _log_report(sandbox_id))
            await self._changed(sandbox_id)
        except NotFound:
            return  # deleted meanwhile
        except StartFailure as failure:
            # The row stays RUNNING, so that the next round tries again; as long as the engine itself is away
            # that is no fault of the sandbox.
            if failure.code != "docker_unavailable":
                await self._gave_up(sandbox_id, failure)
        finally:
            self._reviving.discard(sandbox_id)

    async def _ought_to_run(self, sandbox_id: UUID) -> bool:
        return (await self._require(sandbox_id)).status == SandboxStatus.RUNNING

    async def _examine(self) -> None:
        try:
            await self._backend.examine()
        except StartFailure as failure:
            logger.warning("walls cannot be examined", extra={"cause": failure.cause, "fix": failure.fix})

    async def _gave_up(self, sandbox_id: UUID, failure: StartFailure) -> bool:
        """Counts a crash; after too many of them in a short time the sandbox stays in ERROR."""
        crashes, moment = self._crashes[sandbox_id], time.monotonic()
        while crashes and moment - crashes[0] > RESTART_WINDOW_SECONDS:
            crashes.popleft()
        crashes.append(moment)
        logger.warning("agent server died", extra={"sandbox_id": sandbox_id.hex, "cause": failure.cause})
        if len(crashes) <= MAX_RESTARTS:
            return False
        minutes = f"{RESTART_WINDOW_SECONDS / 60:g} minutes"
        cause = f"{failure.cause} It was restarted {MAX_RESTARTS} times within {minutes}."
        final = StartFailure(failure.code, cause, fix=failure.fix, output=failure.output)
        await self._save(sandbox_id, SandboxStatus.ERROR, failure=final)
        await self._changed(sandbox_id)
        return True

    async def _why_dead(self, sandbox_id: UUID) -> StartFailure:
        words = await self._backend.last_words(sandbox_id)
        return StartFailure(words.code, words.cause, fix=words.fix, output=words.output)

    async def _require(self, sandbox_id: UUID) -> Sandbox:
        async with self._database.read() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
        if sandbox is None or sandbox_id in self._deleting:
            raise NotFound("No such sandbox.")
        return sandbox

    def _is_of_this_kind(self) -> ColumnElement[bool]:
        is_process = Sandbox.spec_id == PROCESS
        return is_process if self._backend.kind.backend == PROCESS else ~is_process

    async def _save(
        self,
        sandbox_id: UUID,
        status: SandboxStatus,
        *,
        machine: Machine | None = None,
        failure: StartFailure | None = None,
    ) -> None:
        async with self._database.session() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None:
                return
            sandbox.status = status
            sandbox.error = _error(failure) if failure else None
            if machine:
                sandbox.spec_id = machine.spec_id

    async def _changed(self, sandbox_id: UUID) -> None:
        if self.on_change:
            await self.on_change(sandbox_id)


def _error(failure: StartFailure) -> dict[str, str]:
    return {"code": failure.code, "cause": failure.cause, "fix": failure.fix, "output": failure.output}


def _log_report(sandbox_id: UUID) -> Report:
    def report(line: str) -> None:
        logger.info("reviving sandbox", extra={"sandbox_id": sandbox_id.hex, "progress": line})

    return report
