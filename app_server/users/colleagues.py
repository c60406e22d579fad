"""Queries for the users of the same organisation. The isolation between organisations relies on these
queries.
"""

from uuid import UUID

from sqlalchemy import ScalarSelect, Select, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import QueryableAttribute, aliased

from app_server.users.models import User


def organisation_of(user_id: UUID | QueryableAttribute[UUID] | None) -> ScalarSelect[UUID]:
    """Returns the query for the id of a user's organisation. It has no row if there is no such user.

    user_id: an id, or a column of the outer query.
    """
    # The alias keeps the query apart from an outer query for users.
    person = aliased(User)
    return select(person.organisation_id).where(person.id == user_id).scalar_subquery()


def colleagues_of(user_id: UUID | None) -> Select[UUID]:
    """Returns the query for the ids of all users of the user's organisation, this user included."""
    person = aliased(User)
    return select(person.id).where(person.organisation_id == organisation_of(user_id))


async def are_colleagues(session: AsyncSession, user_id: UUID, other_id: UUID | None) -> bool:
    """Returns whether both users belong to the same organisation."""
    return await session.scalar(select(organisation_of(user_id) == organisation_of(other_id))) is True


def members_of(organisation_id: UUID) -> Select[UUID]:
    """Returns the query for the ids of all users of an organisation."""
    person = aliased(User)
    return select(person.id).where(person.organisation_id == organisation_id)
