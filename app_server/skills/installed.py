"""Collects the skills that this server sends to a user's conversations: the skill files on the disk, and the
skills that are installed in the database.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.config import Config
from app_server.skills.files import MAX_TOTAL_BYTES, ORIGINS, Origin, SkillFile, read_skill_files
from app_server.skills.models import InstalledSkill


async def installed_for(session: AsyncSession, user_id: UUID) -> Sequence[InstalledSkill]:
    """Returns the skills that are installed for this user or for all users of this installation, sorted by
    name.
    """
    mine = or_(InstalledSkill.user_id == user_id, InstalledSkill.user_id.is_(None))
    rows = await session.scalars(select(InstalledSkill).where(mine).order_by(InstalledSkill.name))
    return rows.all()


def as_files(installed: Sequence[InstalledSkill]) -> list[SkillFile]:
    """Converts installed skills to the form in which they are sent to agent servers.

    All texts together may have at most 1 MiB. If the text of a skill would exceed this limit, the skill gets
    a `problem` and no text.
    """
    files: list[SkillFile] = []
    room = MAX_TOTAL_BYTES
    for row in installed:
        path, size = installed_path(row), len(row.text.encode())
        origin = origin_of(row)
        if size > room:
            problem = f"with the others it is too much: over {MAX_TOTAL_BYTES // 1024} KiB"
            files.append(SkillFile(origin=origin, path=path, problem=problem))
            continue
        room -= size
        files.append(SkillFile(origin=origin, path=path, text=row.text))
    return files


def origin_of(row: InstalledSkill) -> Origin:
    return "organisation" if row.user_id is None else "user"


def installed_path(row: InstalledSkill) -> str:
    """Returns the path that users see for an installed skill, such as `user/installed/review/SKILL.md`. No
    such file exists on the disk, because the text of the skill is in the database.
    """
    return f"{origin_of(row)}/installed/{row.name}/SKILL.md"


async def skill_files(session: AsyncSession, config: Config, user_id: UUID) -> list[SkillFile]:
    """Returns all skills that this user's agents may get from this server: skill files on the disk and
    installed skills.

    The user's own skills come first, then the skills of the organisation, then the public skills. If two
    skills have the same name, agents use the first one.
    """
    files = await asyncio.to_thread(read_skill_files, config, user_id)
    both = [*files, *as_files(await installed_for(session, user_id))]
    return sorted(both, key=lambda file: ORIGINS.index(file.origin))
