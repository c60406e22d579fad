"""A background job that compares installed skills with their sources. If the text at the source differs from
the installed text, the skill is marked, so that users can update it.

The job never updates a skill. It stores the result for each skill immediately. If a run is interrupted, the
next run continues with the skills that were not compared yet.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import or_, select

from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.errors import AppError
from app_server.core.jobs.policy import Handler, JobAttempt, RetryPolicy
from app_server.git.pinned_git import guard_for
from app_server.http.guarded_client import Guard
from app_server.skill_catalogue.service import Content, content_in, source_of, version_at
from app_server.skills.models import InstalledSkill
from app_server.users.models import User

KIND: Final = "skills.check"
EVERY: Final = timedelta(hours=1)
POLICY: Final = RetryPolicy(attempts=3, timeout=timedelta(minutes=30))
_DUE_AFTER = timedelta(days=1)
_MOST = 200
"""The maximum number of skills that one run compares. The next run continues with the remaining skills."""

Due = tuple[InstalledSkill, bool]


def checker(database: Database, config: Config) -> Handler:
    """Returns the function that runs the background job `skills.check`. The function compares installed
    skills with the repositories that they come from, if the last comparison is at least a day ago. It marks
    the skills whose text differs from the text in the repository. It returns the number of skills that it has
    compared.
    """

    async def check(_attempt: JobAttempt) -> dict[str, Any]:
        due = await _due(database)
        for group in _by_source(due):
            guard = guard_for(config, administers=group[0][1])
            await _compare(database, [row for row, _ in group], guard)
        return {"skills": len(due)}

    return check


async def _due(database: Database) -> Sequence[Due]:
    """Returns the installed skills that must be compared with their sources now. These are the skills that
    were never compared, or were last compared at least a day ago. Skills of disabled users are left out. At
    most 200 skills are returned: first those never compared, then those with the oldest comparison.

    Each skill is returned as a pair of the skill and a bool. The bool is True if the source of the skill may
    be on any private host. This is so if the skill is installed for all users, or if its user is an
    administrator of the installation.
    """
    query = (
        select(InstalledSkill, User)
        .outerjoin(User, User.id == InstalledSkill.user_id)
        .where(
            User.disabled_at.is_(None),
            or_(InstalledSkill.checked_at.is_(None), InstalledSkill.checked_at <= now() - _DUE_AFTER),
        )
        .order_by(InstalledSkill.checked_at.asc().nulls_first(), InstalledSkill.id)
        .limit(_MOST)
    )
    async with database.read() as session:
        # Only administrators of the installation install skills for everyone. These have no user.
        return [
            (row, user is None or user.administers_installation) for row, user in await session.execute(query)
        ]


def _by_source(due: Sequence[Due]) -> list[list[Due]]:
    """Groups installed skills by their source (repository, Git ref and path), so that each source is fetched
    only once.

    `due`: pairs of a skill and a bool that says whether its source may be on a private host (see `_due`). All
    skills of a group have the same bool, because one check of network addresses is used for the whole group.
    """
    groups: dict[tuple[object, ...], list[Due]] = {}
    for row, administers in due:
        groups.setdefault((row.source, row.ref, row.repo_path, administers), []).append((row, administers))
    return list(groups.values())


async def _compare(database: Database, rows: Sequence[InstalledSkill], guard: Guard | None) -> None:
    try:
        version = await version_at(source_of(rows[0]), guard)
    except AppError as error:
        for row in rows:
            await _note(database, row.id, error.detail)
        return
    for row in rows:
        try:
            found: Content | str = content_in(version, row.name)
        except AppError as error:
            found = error.detail
        await _note(database, row.id, found)


async def _note(database: Database, skill_id: UUID, found: Content | str) -> None:
    """Stores the result of the comparison of an installed skill with its source. Does nothing if the skill
    was removed during the comparison.

    found: the content of the skill at the source, or a sentence that says why there is no content.
    """
    async with database.session() as session:
        row = await session.get(InstalledSkill, skill_id, with_for_update=True)
        if row is None:
            return  # removed meanwhile
        row.checked_at = now()
        if isinstance(found, str):
            row.check_problem = found
        else:
            row.check_problem, row.has_update = None, row.text != found.text
