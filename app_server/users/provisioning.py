"""The database table of the people whose accounts an identity provider manages. The provider uses the
protocol SCIM.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_USER_NAME_CHARACTERS = 320
MAX_EXTERNAL_ID_CHARACTERS = 255


class ProvisionedPerson(Base):
    """The database row of a person whose account an identity provider manages with SCIM. The row contains the
    person's SCIM data.

    `user_name_key`: the user name in lower case, for comparisons. `external_id`: the id that the identity
    provider uses for the person. `attributes`: the attributes of the person's SCIM resource that are in no
    other column, as the provider has sent them. `removed_at`: the time when the provider has removed the
    person; None if the provider has not removed the person. From the removal on, the account is disabled. If
    the provider adds a person with the same user name again, the person gets the same account.
    """

    __tablename__ = "provisioned_people"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    user_name: Mapped[str] = mapped_column(String(MAX_USER_NAME_CHARACTERS))
    user_name_key: Mapped[str] = mapped_column(String(2 * MAX_USER_NAME_CHARACTERS), unique=True)
    external_id: Mapped[str | None] = mapped_column(String(MAX_EXTERNAL_ID_CHARACTERS))
    attributes: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
    removed_at: Mapped[datetime | None]


def user_name_key(user_name: str) -> str:
    """Returns the user name in lower case, the form in which user names are compared."""
    return user_name.casefold()


async def person_of_user_name(session: AsyncSession, user_name: str) -> ProvisionedPerson | None:
    """Returns the person with this user name among the people that an identity provider manages with SCIM.
    Also finds a person that the provider has removed, because the account can be used again. Returns None if
    there is no such person. Upper and lower case do not matter.
    """
    query = select(ProvisionedPerson).where(ProvisionedPerson.user_name_key == user_name_key(user_name))
    found: ProvisionedPerson | None = await session.scalar(query)
    return found
