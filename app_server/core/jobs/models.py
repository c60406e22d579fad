"""The database table of the jobs in the queue."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Index, Integer, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

LONG_AGO = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
_HAS_KEY_IN_USE = text("state = 'running' AND key IS NOT NULL")


class JobState(StrEnum):
    """The state of a job in the queue. `dead`: all attempts have failed, and no further attempt is made.
    `cancelled`: an administrator has cancelled the job.
    """

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Job(Base):
    """The database row of one job in the queue.

    `key`: jobs with the same key run one at a time; None means no such limit. `run_at`: the job does not run
    before this time. `attempts`: how many attempts have begun since the job was stored or retried.
    `every_seconds`: the interval after which the job repeats; None if it runs only once. `lease_owner`,
    `lease_until`: the worker that runs the job, and the time until which no other worker may run it. `error`:
    why the last attempt failed.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index(None, "state", "run_at"),
        Index(None, "state", "lease_until"),
        Index(None, "kind", "created_at"),
        Index(
            "uq_jobs_running_key",
            "key",
            unique=True,
            postgresql_where=_HAS_KEY_IN_USE,
            sqlite_where=_HAS_KEY_IN_USE,
        ),
        Index(None, "key"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(80))
    payload: Mapped[dict[str, Any]]
    key: Mapped[str | None] = mapped_column(String(200))
    priority: Mapped[int] = mapped_column(Integer, default=0)
    state: Mapped[JobState] = mapped_column(enum_column(JobState), default=JobState.WAITING)
    run_at: Mapped[datetime] = mapped_column(default=now)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    every_seconds: Mapped[int | None] = mapped_column(Integer)
    lease_owner: Mapped[str | None] = mapped_column(String(32))
    lease_until: Mapped[datetime] = mapped_column(default=LONG_AGO)
    error: Mapped[str | None] = mapped_column(Text)
    result: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    finished_at: Mapped[datetime | None]
