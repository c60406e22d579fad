"""The functions with which administrators manage the queue of jobs: they list jobs, find jobs with problems,
retry jobs and cancel jobs.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy import and_, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.errors import Conflict, NotFound
from app_server.core.jobs.models import LONG_AGO, Job, JobState
from app_server.core.jobs.queue import wake_after_commit

LATE_AFTER = timedelta(minutes=10)


class JobTrouble(StrEnum):
    """A problem of a job that has not ended. `silent`: the job runs, but the app server that runs it no
    longer extends its lease (its time-limited right to run the job), so that app server has probably stopped.
    `late`: the job should have been started more than LATE_AFTER ago and still waits.
    """

    SILENT = "silent"
    LATE = "late"


def trouble_of(job: Job, moment: datetime) -> JobTrouble | None:
    """Returns the problem of a job at the time `moment`. SILENT: the app server that runs the job has
    probably stopped. LATE: the job should have been started more than LATE_AFTER ago and still waits. Returns
    None if the job has no problem or has ended.
    """
    if job.state == JobState.RUNNING and job.lease_until < moment:
        return JobTrouble.SILENT
    if job.state == JobState.WAITING and job.run_at < moment - LATE_AFTER:
        return JobTrouble.LATE
    return None


async def troubled(session: AsyncSession, moment: datetime) -> int:
    """Returns the number of jobs that have a problem at the time `moment`. A running job has a problem if its
    app server has probably stopped. A waiting job has a problem if it should have been started more than
    LATE_AFTER ago.
    """
    silent = and_(Job.state == JobState.RUNNING, Job.lease_until < moment)
    late = and_(Job.state == JobState.WAITING, Job.run_at < moment - LATE_AFTER)
    return await session.scalar(select(func.count()).select_from(Job).where(or_(silent, late))) or 0


async def search(
    session: AsyncSession,
    *,
    state: JobState | None,
    kind: str | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Job]:
    """Returns at most `limit` jobs, newest first. `state`, `kind`: only jobs with this state or kind; None
    means all. `before`: the creation time and the id of the last job of the previous page; None means the
    first page.
    """
    query = select(Job).order_by(Job.created_at.desc(), Job.id.desc()).limit(limit)
    if state is not None:
        query = query.where(Job.state == state)
    if kind is not None:
        query = query.where(Job.kind == kind)
    if before is not None:
        query = query.where(tuple_(Job.created_at, Job.id) < before)
    return list((await session.scalars(query)).all())


async def counts(session: AsyncSession) -> list[tuple[str, JobState, int]]:
    """Returns how many jobs there are, as one entry (kind, state, number) for each kind and state."""
    query = select(Job.kind, Job.state, func.count()).group_by(Job.kind, Job.state).order_by(Job.kind)
    return [(kind, state, number) for kind, state, number in (await session.execute(query)).all()]


async def retry(session: AsyncSession, job_id: UUID) -> Job:
    """Makes a job run as soon as possible, and returns the job. Its attempts are counted from zero again. The
    job must be waiting, cancelled or dead (it has failed and is not tried again). Raises NotFound if there is
    no such job. Raises Conflict `job_not_retryable` if the job runs or has succeeded.
    """
    job = await _locked(session, job_id)
    if job.state not in (JobState.DEAD, JobState.CANCELLED, JobState.WAITING):
        raise Conflict(f"The job is {job.state}.", code="job_not_retryable", fix="Retry a job that is dead.")
    job.state, job.attempts, job.run_at, job.finished_at = JobState.WAITING, 0, now(), None
    wake_after_commit(session)
    return job


async def cancel(session: AsyncSession, job_id: UUID) -> Job:
    """Cancels a job and returns it. If the job runs, it is stopped within seconds. Raises NotFound if there
    is no such job. Raises Conflict `job_not_cancellable` if the job repeats, has succeeded or is cancelled
    already.
    """
    job = await _locked(session, job_id)
    if job.every_seconds is not None or job.state not in (JobState.WAITING, JobState.RUNNING, JobState.DEAD):
        raise Conflict(
            "This job cannot be cancelled: it repeats, or it has ended.",
            code="job_not_cancellable",
            fix="Cancel a job that waits, runs or is dead, and does not repeat.",
        )
    job.state, job.lease_owner, job.lease_until = JobState.CANCELLED, None, LONG_AGO
    job.finished_at = now()
    return job


async def _locked(session: AsyncSession, job_id: UUID) -> Job:
    job = await session.get(Job, job_id, with_for_update=True)
    if job is None:
        raise NotFound("There is no such job.")
    return job
