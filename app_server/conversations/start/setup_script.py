"""Runs an allowed set-up script in a conversation whose start is finished (READY). The script's progress is
written to the start task, the row that describes the conversation's start.

While the script runs, the server has the lease of the start task: for a limited time, no other server may
work on the start task. If the lease has expired and the script is still marked as running, the server that
ran the script has died.
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
    """One run of a conversation's set-up scripts after the conversation's start is finished (READY).

    `runs`: the scripts, which run one after the other. `announce`: a function that gets the id of a
    conversation and sends the conversation's current state to the clients that follow it. `owner`: a random
    id of this run. The start task stores it while this run has the lease (the right to work on the task for a
    limited time).
    """

    conversation_id: UUID
    runs: Sequence[ScriptRun]
    client: AgentClient
    timeout_seconds: int
    database: Database
    announce: Callable[[UUID], Awaitable[None]]
    owner: str = field(default_factory=lambda: secrets.token_hex(16))

    async def claim(self) -> None:
        """Takes the lease (the right to work for a limited time) of the start task, the row that describes
        the conversation's start. So no other run of set-up scripts can begin. Raises Conflict
        `setup_script_runs` if another run has the lease.
        """
        async with self.database.session() as session:
            task = await session.get_one(StartTask, self.conversation_id, with_for_update=True)
            require_none(task)
            task.lease_owner = self.owner
            _hold(task, state="running", started_at=now().isoformat(), finished_at=None, output=None)
        await self.announce(self.conversation_id)

    async def run(self) -> None:
        """Runs all set-up scripts and waits until they have ended. An error of a script is not raised. It is
        stored in the start task (the row that describes the conversation's start), in the stage for set-up
        scripts.
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
    """Checks that no set-up script is running in the conversation. `task`: the row that describes the
    conversation's start. Raises Conflict `setup_script_runs` if a set-up script is running.
    """
    if _is_running(task) and task.lease_until > now():
        raise Conflict(
            "A set-up script is running already.", code="setup_script_runs", fix="Wait until it has ended."
        )


async def end_cut_off(session: AsyncSession) -> list[UUID]:
    """Finds runs of set-up scripts whose server has died, and marks them as failed. Returns the ids of the
    conversations of these runs.
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
