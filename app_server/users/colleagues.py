"""Database queries for the users of one organisation. These queries keep the data of organisations separate
from each other.
"""

from uuid import UUID

from sqlalchemy import ScalarSelect, Select, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import QueryableAttribute, aliased

from app_server.users.models import User


def organisation_of(user_id: UUID | QueryableAttribute[UUID] | None) -> ScalarSelect[UUID]:
    """Returns the subquery for the id of a user's organisation. The result is NULL if there is no such user.

    user_id: an id, or a column of the outer query that contains an id.
    """
    # The alias keeps the query apart from an outer query for users.
    person = aliased(User)
    return select(person.organisation_id).where(person.id == user_id).scalar_subquery()


def colleagues_of(user_id: UUID | None) -> Select[UUID]:
    """Returns the database query for the ids of all users in the same organisation as this user. This user is
    included. If `user_id` is None, the query finds no users.
    """
    person = aliased(User)
    return select(person.id).where(person.organisation_id == organisation_of(user_id))


async def are_colleagues(session: AsyncSession, user_id: UUID, other_id: UUID | None) -> bool:
    """Returns whether both users are in the same organisation. Returns False if one of them does
    not exist.
    """
    return await session.scalar(select(organisation_of(user_id) == organisation_of(other_id))) is True


def members_of(organisation_id: UUID) -> Select[UUID]:
    """Returns the database query for the ids of all users in an organisation."""
    person = aliased(User)
    return select(person.id).where(person.organisation_id == organisation_id)
