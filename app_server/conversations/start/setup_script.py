"""Runs an allowed setup script in a conversation that has already started (READY). The start task shows the
progress, in its stage for setup scripts.

While the script runs, its server holds the lease of the start task. If the lease has expired, the server has
died during the run.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.agent_client.client import AgentClient
from app_server.conversations.models import LONG_AGO, StartStatus, StartTask
from app_server.conversations.start import repository_scripts as scripts
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.context import Progress
from app_server.conversations.start.repository_scripts import ScriptRun
from app_server.conversations.start.tasks import LEASE, LeaseLost
from app_server.core.database import Database, now
from app_server.core.errors import AppError, Conflict, StartFailure

STAGE = StartStatus.RUNNING_SETUP_SCRIPT
SAVE_SECONDS = 0.5
CUT_OFF = (
    "The server ended while the script ran. It is not known whether the script has finished. Run it again."
)
MAX_ROUND = 100


@dataclass(frozen=True)
class SetupRun:
    """One run of the setup scripts of a conversation that has already started (READY). The scripts run one
    after the other.
    """

    conversation_id: UUID
    runs: Sequence[ScriptRun]
    client: AgentClient
    timeout_seconds: int
    database: Database
    announce: Callable[[UUID], Awaitable[None]]
    owner: str = field(default_factory=lambda: secrets.token_hex(16))

    async def claim(self) -> None:
        """Leases the start task for this run, so that no other run can begin. Raises Conflict
        `setup_script_runs` if another run has the lease.
        """
        async with self.database.session() as session:
            task = await session.get_one(StartTask, self.conversation_id, with_for_update=True)
            require_none(task)
            task.lease_owner = self.owner
            _hold(task, state="running", started_at=now().isoformat(), finished_at=None, output=None)
        await self.announce(self.conversation_id)

    async def run(self) -> None:
        """Runs the setup scripts and waits for their end. If a script fails, stores the failure in the start
        task's stage and raises nothing.
        """
        progress = Progress()
        work = asyncio.create_task(
            scripts.run_setup_scripts(self.client, self.runs, self.timeout_seconds, progress.show)
        )
        # The lease is lost if the conversation was deleted, or if another server took this one for dead.
        with contextlib.suppress(LeaseLost):
            try:
                await self._follow(work, progress)
            except StartFailure as failure:
                await self._end("failed", failure.cause, failure.output)
            except AppError as error:
                await self._end("failed", error.detail, progress.output)
            except asyncio.CancelledError:
                await self._end("failed", "The server was stopped while it ran.", progress.output)
                raise
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    async def _follow(self, work: asyncio.Task[str], progress: Progress) -> None:
        while not (await asyncio.wait({work}, timeout=SAVE_SECONDS))[0]:
            await self._change(lambda task: _hold(task, detail=progress.detail, output=progress.output))
        ran = (
            f"{run.repository}: Ran {run.script.path}" if run.repository else f"Ran {run.script.path}"
            for run in self.runs
        )
        await self._end("done", "; ".join(ran), work.result())

    async def _end(self, state: str, detail: str, output: str | None) -> None:
        await self._change(lambda task: _let_go(task, state=state, detail=detail, output=output or None))

    async def _change(self, apply: Callable[[StartTask], None]) -> None:
        async with self.database.session() as session:
            await start_tasks.change(session, self.conversation_id, self.owner, apply)
        await self.announce(self.conversation_id)


def require_none(task: StartTask) -> None:
    """Checks that no setup script of the conversation is running. Raises Conflict `setup_script_runs` if one
    is.
    """
    if _is_running(task) and task.lease_until > now():
        raise Conflict(
            "A set-up script is running already.", code="setup_script_runs", fix="Wait until it has ended."
        )


async def end_cut_off(session: AsyncSession) -> list[UUID]:
    """Finds runs of setup scripts whose server has died, and stores that they have failed. Returns the ids of
    their conversations.
    """
    leased = select(StartTask).where(
        StartTask.status == StartStatus.READY, StartTask.lease_until > LONG_AGO, StartTask.lease_until < now()
    )
    tasks = (await session.scalars(leased.limit(MAX_ROUND).with_for_update())).all()
    cut_off = [task for task in tasks if _is_running(task)]
    for task in tasks:
        task.lease_owner, task.lease_until = None, LONG_AGO
    for task in cut_off:
        _let_go(task, state="failed", detail=CUT_OFF)
    return [task.id for task in cut_off]


def _is_running(task: StartTask) -> bool:
    return start_tasks.stage_of(task, STAGE).state == "running"


def _hold(task: StartTask, **fields: Any) -> None:
    task.updated_at = now()
    task.lease_until = now() + LEASE
    start_tasks.set_stage(task, STAGE, **fields)


def _let_go(task: StartTask, **fields: Any) -> None:
    task.lease_owner, task.lease_until, task.updated_at = None, LONG_AGO, now()
    start_tasks.set_stage(task, STAGE, finished_at=now().isoformat(), **fields)
