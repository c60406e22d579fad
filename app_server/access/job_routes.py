"""Routes by which administrators see, retry and cancel the server's background jobs."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Id, ReadSession, Session, Timestamp, now
from app_server.core.jobs import administration
from app_server.core.jobs.administration import JobTrouble
from app_server.core.jobs.models import Job, JobState
from app_server.core.jobs.worker import Jobs
from app_server.core.pagination import Limit, Page, PageId, encode_page_id, page_position

router = APIRouter(prefix="/api/v1/administration/jobs", tags=["Administration"])

_COMPUTED = frozenset(("has_handler", "trouble"))

Kind = Annotated[str | None, Query(max_length=80)]


class JobInfo(BaseModel):
    """A background job of the server. `attempts`: the number of attempts that have begun. `error`: why the
    last attempt failed. `every_seconds`: the pause between two runs of a repeated job; null if the job runs
    once. `has_handler`: whether this server can run jobs of this kind. `trouble`: `silent` if the server that
    runs the job no longer reports, `late` if the job has been due for more than ten minutes; otherwise null.
    """

    id: Id
    kind: str
    key: str | None
    state: JobState
    priority: int
    attempts: int
    run_at: Timestamp
    every_seconds: int | None
    error: str | None
    result: dict[str, Any] | None
    created_at: Timestamp
    finished_at: Timestamp | None
    has_handler: bool
    trouble: JobTrouble | None


class JobCount(BaseModel):
    kind: str
    state: JobState
    count: int
    has_handler: bool


class JobPage(Page[JobInfo]):
    """A page of jobs, with numbers about all jobs of the server. The filter of the request applies only to
    the jobs on the page, not to these numbers. `counts`: the number of jobs of each kind in each state.
    `troubled`: the number of jobs that are silent or late; see JobInfo.
    """

    counts: list[JobCount]
    troubled: int


@router.get("")
async def search_jobs(
    request: Request,
    session: ReadSession,
    state: JobState | None = None,
    kind: Kind = None,
    page_id: PageId = None,
    limit: Limit = 50,
) -> JobPage:
    """Returns a page of background jobs, newest first. 400 `bad_page_id` if `page_id` is not valid."""
    known = _kinds(request)
    before = None if page_id is None else page_position(page_id)
    found = await administration.search(session, state=state, kind=kind, before=before, limit=limit + 1)
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return JobPage(
        items=[_info(job, known) for job in shown],
        next_page_id=last and encode_page_id(last.created_at.isoformat(), last.id.hex),
        counts=[
            JobCount(kind=each, state=its_state, count=number, has_handler=each in known)
            for each, its_state, number in await administration.counts(session)
        ],
        troubled=await administration.troubled(session, now()),
    )


@router.post("/{job_id}/retry")
async def retry_job(request: Request, session: Session, trail: CurrentTrail, job_id: UUID) -> JobInfo:
    """Makes a failed job (state `dead`) or a cancelled job run again, with the full number of attempts. If
    the job is waiting, makes it run at once. Returns the job. 409 `job_not_retryable` if the job runs or has
    succeeded.
    """
    job = await administration.retry(session, job_id)
    trail.record(session, AuditAction.JOB_RETRIED, (AuditTarget.JOB, job.id), kind=job.kind)
    return _info(job, _kinds(request))


@router.post("/{job_id}/cancel")
async def cancel_job(request: Request, session: Session, trail: CurrentTrail, job_id: UUID) -> JobInfo:
    """Cancels a job that is waiting or running, or whose attempts have all failed (state `dead`). A running
    job ends within seconds. Returns the job. 409 `job_not_cancellable` if the job repeats, has succeeded or
    is cancelled already.
    """
    job = await administration.cancel(session, job_id)
    trail.record(session, AuditAction.JOB_CANCELLED, (AuditTarget.JOB, job.id), kind=job.kind)
    return _info(job, _kinds(request))


def _kinds(request: Request) -> frozenset[str]:
    jobs: Jobs = request.state.jobs
    return jobs.kinds


def _info(job: Job, known: frozenset[str]) -> JobInfo:
    shown = {name: getattr(job, name) for name in JobInfo.model_fields if name not in _COMPUTED}
    return JobInfo(**shown, has_handler=job.kind in known, trouble=administration.trouble_of(job, now()))
