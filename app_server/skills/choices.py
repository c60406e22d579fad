"""Stores which skills users have switched on or off. Each choice of a user names a skill. It applies to one
repository or to all conversations of the user.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Conflict
from app_server.skills.models import EVERYWHERE, SkillChoice

MAX_CHOICES = 1000


async def choices_of(session: AsyncSession, user_id: UUID) -> Sequence[SkillChoice]:
    """Returns the user's choices to switch skills on or off, sorted by skill name and repository."""
    query = select(SkillChoice).where(SkillChoice.user_id == user_id)
    rows = await session.scalars(query.order_by(SkillChoice.name, SkillChoice.repository))
    return rows.all()


async def choose(
    session: AsyncSession, user_id: UUID, name: str, repository: str, *, is_enabled: bool | None
) -> None:
    """Stores the user's choice whether new conversations load the skill with this name.

    `repository`: the repository to which the choice applies, such as `github.com/owner/name`; an empty text
    (EVERYWHERE) means all conversations. `is_enabled`: True switches the skill on, False switches it off,
    None deletes the choice. Raises Conflict `too_many_skill_choices` if the user has 1000 choices already.
    """
    row = await session.get(SkillChoice, (user_id, name, repository))
    if is_enabled is None:
        if row is not None:
            await session.delete(row)
    elif row is not None:
        row.is_enabled = is_enabled
    else:
        count = select(func.count()).select_from(SkillChoice).where(SkillChoice.user_id == user_id)
        if (await session.scalar(count) or 0) >= MAX_CHOICES:
            raise Conflict(
                f"You have {MAX_CHOICES} choices about skills, which is the limit.",
                code="too_many_skill_choices",
                fix="Remove choices that you no longer need.",
            )
        session.add(SkillChoice(user_id=user_id, name=name, repository=repository, is_enabled=is_enabled))
    await session.flush()


def disabled_in(choices: Iterable[SkillChoice], repository: str) -> dict[str, str]:
    """Returns the skills that are switched off for conversations about a repository. The key is the name of
    the skill. The value is the repository for which the user has switched off the skill; an empty text
    (EVERYWHERE) means that the user has switched it off for all conversations.

    A choice for this repository overrides a choice for all conversations. `choices`: all choices of one user.
    """
    counting: dict[str, SkillChoice] = {}
    for choice in choices:
        if choice.repository in {EVERYWHERE, repository}:
            known = counting.get(choice.name)
            if known is None or choice.repository != EVERYWHERE:
                counting[choice.name] = choice
    return {name: choice.repository for name, choice in counting.items() if not choice.is_enabled}


async def disabled_everywhere(session: AsyncSession, user_id: UUID) -> list[str]:
    """Returns the names of the skills that the user has switched off for all conversations, sorted. A skill
    is also in the list if the user has switched it on again for single repositories.
    """
    return sorted(disabled_in(await choices_of(session, user_id), EVERYWHERE))


async def disable_everywhere(session: AsyncSession, user_id: UUID, names: Iterable[str]) -> None:
    """Replaces the list of skills that the user has switched off for all conversations. `names`: the skills
    of the new list. A skill that was in the old list and is not in the new list is no longer switched off.
    Choices for single repositories do not change.

    Raises Conflict `too_many_skill_choices` if the user would have more than 1000 choices.
    """
    await session.execute(
        delete(SkillChoice).where(
            SkillChoice.user_id == user_id,
            SkillChoice.repository == EVERYWHERE,
            SkillChoice.is_enabled.is_(False),
        )
    )
    for name in sorted(set(names)):
        await choose(session, user_id, name, EVERYWHERE, is_enabled=False)
