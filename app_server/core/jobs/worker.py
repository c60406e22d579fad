"""The worker that runs the jobs in the queue. Each app server has one worker. Any number of workers can share
one database.
"""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from agent_runtime.time_limits import time_limit
from app_server.core.database import UNAVAILABLE, Database, now
from app_server.core.jobs import queue
from app_server.core.jobs.models import Job, JobState
from app_server.core.jobs.policy import GiveUp, Handler, JobAttempt, OnDead, RetryPolicy, TryAgain
from app_server.core.jobs.wakeups import Wakeups
from app_server.core.pubsub import LOOK, Ended, LocalPubSub, PubSub
from app_server.core.server_objects import from_server

logger = logging.getLogger(__name__)

SAFETY_SECONDS = 5.0
"""The time in seconds after which a worker looks for jobs in the database even if it was not woken. So it
also finds the interrupted jobs of servers that were killed.
"""

RENEW_SECONDS = 4.0
TIDY_KIND = "jobs.forget_ended"
_CHANNEL = UUID("0b6f3f52-53b5-4b1e-8d55-0d7c1f6f9a77")
_ON_DEAD_SECONDS = 60.0
_KEEP_DONE = timedelta(days=3)
_KEEP_FAILED = timedelta(days=30)


@dataclass(frozen=True)
class _Kind:
    handler: Handler
    policy: RetryPolicy
    every: timedelta | None = None
    on_dead: OnDead | None = None


class Jobs:
    """The job worker of this app server, with the kinds of jobs that it can run.

    Register all kinds of jobs first, and then call `open`. `wake` makes the worker look for new jobs. `close`
    stops the worker and frees its jobs for other workers.
    """

    def __init__(self, database: Database, pubsub: PubSub) -> None:
        self._database = database
        self._pubsub = pubsub
        self._owner = secrets.token_hex(16)
        self._kinds: dict[str, _Kind] = {}
        self._running: dict[UUID, tuple[str, asyncio.Task[None]]] = {}
        self._woken = asyncio.Event()
        self._own_tasks: list[asyncio.Task[None]] = []
        # Redis tells the other servers; without it, PostgreSQL does.
        is_needed = isinstance(pubsub, LocalPubSub) and database.sqlite_file is None
        self._wakeups = Wakeups(database, self.wake) if is_needed else None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of jobs for which this app server has a handler."""
        return frozenset(self._kinds)

    def register(
        self,
        kind: str,
        handler: Handler,
        policy: RetryPolicy | None = None,
        *,
        on_dead: OnDead | None = None,
    ) -> None:
        """Sets the function and the rules with which jobs of this kind are run. `policy`: None means the
        default RetryPolicy. `on_dead`: the function that is called before a job of this kind becomes dead;
        None means that no function is called. Raises ValueError if this kind has a handler already.
        """
        self._add(kind, _Kind(handler, policy or RetryPolicy(), on_dead=on_dead))

    def schedule(
        self, kind: str, handler: Handler, every: timedelta, policy: RetryPolicy | None = None
    ) -> None:
        """Sets a job that runs again and again, each time on one of the app servers. `handler`: the function
        that runs the job. `every`: the pause between the end of a run and the beginning of the next run.
        `policy`: the rules by which a failed attempt is repeated; None means at most three attempts.

        If all attempts of a run fail, the error is stored, and the job waits for its next run. Raises
        ValueError if this kind has a handler already.
        """
        self._add(kind, _Kind(handler, policy or RetryPolicy(attempts=3), every))

    def _add(self, kind: str, known: _Kind) -> None:
        if kind in self._kinds:
            raise ValueError(f"the kind of job {kind} has a handler")
        self._kinds[kind] = known

    async def open(self) -> None:
        """Starts the worker. If an app server was killed, the jobs that it was running are run again. On
        SQLite, they are run again immediately. On PostgreSQL, they are run again when the leases of the
        killed server (its time-limited rights to run the jobs) have expired.
        """
        self.schedule(TIDY_KIND, self._forget_ended, timedelta(hours=1))
        if self._database.sqlite_file is not None:
            async with self._database.session() as session:
                await queue.release_all(session)
        await self._keep_schedules({kind: known.every for kind, known in self._kinds.items() if known.every})
        self._database.session_info[queue.WAKE] = self.wake_all
        self._own_tasks = [
            asyncio.create_task(self._run(), name="jobs"),
            asyncio.create_task(self._keep_leases(), name="leases of jobs"),
            asyncio.create_task(self._listen(), name="news of jobs"),
        ]
        if self._wakeups is not None:
            self._own_tasks.append(asyncio.create_task(self._wakeups.run(), name="news from PostgreSQL"))

    async def _keep_schedules(self, intervals: Mapping[str, timedelta]) -> None:
        for _ in range(len(intervals) + 1):
            with suppress(IntegrityError):  # another server has just stored at least one of them
                async with self._database.session() as session:
                    await queue.keep_schedules(session, intervals)
                return

    def wake(self) -> None:
        self._woken.set()

    def wake_all(self) -> None:
        """Makes the workers of all app servers look for new jobs. The other servers are informed through
        Redis, or through PostgreSQL if there is no Redis.
        """
        self.wake()
        self._pubsub.publish(_CHANNEL, [LOOK])
        if self._wakeups is not None:
            self._wakeups.tell()

    async def close(self) -> None:
        """Stops the worker. Its unfinished jobs are freed, so that other workers can run them immediately."""
        self._database.session_info.pop(queue.WAKE, None)
        tasks = [*self._own_tasks, *(task for _, task in self._running.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(*UNAVAILABLE):
            async with self._database.session() as session:
                await queue.release(session, self._owner)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            pause = SAFETY_SECONDS
            try:
                looked_at = await self._claim_free()
                pause = await self._pause(looked_at)
            except Exception:
                # The loop must outlive a bad round; the round itself is reported.
                logger.exception("a round of the job worker failed")
            with suppress(TimeoutError):
                async with time_limit(pause):
                    await self._woken.wait()

    async def _pause(self, looked_at: datetime) -> float:
        # Searches from the time of the last look, so that a job that has become due since then is not missed.
        async with self._database.read() as session:
            due = await queue.next_due(session, looked_at, self._kinds_below_limit())
        if due is None:
            return SAFETY_SECONDS
        return min(max((due - now()).total_seconds(), 0.0), SAFETY_SECONDS)

    def _kinds_below_limit(self) -> list[str]:
        running = Counter(kind for kind, _ in self._running.values())
        return [kind for kind, known in self._kinds.items() if running[kind] < known.policy.at_once]

    async def _claim_free(self) -> datetime:
        """Starts free jobs until this worker runs its maximum number of jobs, or until no job is free.
        Returns the time up to which due jobs were considered. Jobs whose time `run_at` is later were not
        considered. The worker uses the returned time to plan its next search.
        """
        moment = now()
        while kinds := self._kinds_below_limit():
            moment = now()
            # The worker looks for a free job first, because a claim must wait for SQLite's only writer.
            async with self._database.read() as session:
                if not await queue.is_any_free(session, moment, kinds, list(self._running)):
                    break
            try:
                async with self._database.session() as session:
                    job = await queue.claim(session, self._owner, kinds, list(self._running))
            except IntegrityError:
                continue  # another server runs a job with the same key
            if job is None:
                continue  # another server was faster; is_any_free ends the loop
            self._start(job)
        return moment

    def _start(self, job: Job) -> None:
        task = asyncio.create_task(self._work(job), name=f"job {job.kind}")
        self._running[job.id] = (job.kind, task)

        def ended(done: asyncio.Task[None]) -> None:
            self._running.pop(job.id, None)
            self.wake()
            if not done.cancelled() and (error := done.exception()):
                logger.error("the outcome of a job was not stored", exc_info=error, extra=_named(job))

        task.add_done_callback(ended)

    async def _work(self, job: Job) -> None:
        known = self._kinds[job.kind]
        if job.attempts > known.policy.attempts:
            await self._fail(job, known, "The server ended, or was silent, during the last attempt.")
            return
        attempt = _attempt(job, known)
        try:
            async with time_limit(known.policy.timeout.total_seconds()) as limit:
                result = await known.handler(attempt)
        except GiveUp as error:
            await self._fail(job, known, str(error), final=True)
        except TryAgain as error:
            await self._fail(job, known, str(error), after=error.after)
        except TimeoutError as error:
            late = f"It took longer than {known.policy.timeout.total_seconds():g} s."
            await self._fail(job, known, late if limit.expired() else _text(error))
        except Exception as error:
            logger.warning("a job failed", exc_info=error, extra=_named(job))
            await self._fail(job, known, _text(error))
        else:
            await self._succeed(job, known, result)

    async def _succeed(self, job: Job, known: _Kind, result: dict[str, object] | None) -> None:
        if known.every:
            values = {"state": JobState.WAITING, "run_at": now() + known.every, "attempts": 0}
        else:
            values = {"state": JobState.DONE}
        await self._settle(job, **values, result=result, error=None, finished_at=now())

    async def _fail(
        self, job: Job, known: _Kind, reason: str, *, final: bool = False, after: timedelta | None = None
    ) -> None:
        error = reason[: queue.MAX_ERROR]
        if not final and job.attempts < known.policy.attempts:
            pause = after or known.policy.pause_after(job.attempts)
            await self._settle(job, state=JobState.WAITING, run_at=now() + pause, error=error)
            return
        logger.error("a job failed for the last time", extra={**_named(job), "error": error})
        if known.every:
            await self._settle(
                job, state=JobState.WAITING, run_at=now() + known.every, attempts=0, error=error
            )
        else:
            if known.on_dead is not None:
                await self._tell_of_death(job, known, known.on_dead, error)
            await self._settle(job, state=JobState.DEAD, error=error, finished_at=now())

    async def _tell_of_death(self, job: Job, known: _Kind, on_dead: OnDead, reason: str) -> None:
        """Calls the function `on_dead` for a job that is not tried again. An error of the function is only
        logged. If the database cannot be reached, raises its error. The lease of the job then expires, and
        the function is called again.
        """
        try:
            async with time_limit(_ON_DEAD_SECONDS):
                await on_dead(_attempt(job, known), reason)
        except UNAVAILABLE:
            raise
        except Exception:
            logger.exception("the end of a dead job was not noted", extra=_named(job))

    async def _settle(self, job: Job, **values: object) -> None:
        async with self._database.session() as session:
            is_ours = await queue.settle(session, job.id, self._owner, **values)
        if not is_ours:
            logger.warning("a job was taken over or cancelled while it ran", extra=_named(job))

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if not self._running:
                continue
            try:
                async with self._database.session() as session:
                    renewed = await queue.renew(session, list(self._running), self._owner)
            except UNAVAILABLE:
                logger.warning("the leases of jobs were not renewed; the database cannot be reached")
                continue
            for job_id, (_, task) in list(self._running.items()):
                if job_id not in renewed:
                    task.cancel()

    async def _listen(self) -> None:
        while True:
            with suppress(Ended):
                async with self._pubsub.subscribe(_CHANNEL) as subscription:
                    while True:
                        await subscription.next()
                        self.wake()
            await asyncio.sleep(1)

    async def _forget_ended(self, _attempt: JobAttempt) -> None:
        async with self._database.session() as session:
            await queue.forget_ended(session, _KEEP_DONE, _KEEP_FAILED)


ServerJobs = Annotated[Jobs, from_server("jobs")]


def _attempt(job: Job, known: _Kind) -> JobAttempt:
    is_last = job.attempts >= known.policy.attempts
    return JobAttempt(job.id, job.kind, job.payload, job.key, job.attempts, is_last)


def _named(job: Job) -> dict[str, object]:
    return {"job": job.id.hex, "kind": job.kind, "attempt": job.attempts}


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
