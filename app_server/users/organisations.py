"""The database table of organisations. Each user is in one organisation. The administrators of the default
organisation are also the administrators of the installation.
"""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import Connection, String, Table, event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.core.errors import NotFound

DEFAULT_ORGANISATION_ID = UUID(int=0)
"""The id of the default organisation, whose administrators are also the administrators of the installation.
The default organisation always exists.
"""
DEFAULT_NAME = "Default"


class Organisation(Base):
    """The database row of an organisation: a group of users who see no data of other organisations.
    `name_key`: the name in lower case, so that two names that differ only in upper and lower case count as
    equal.
    """

    __tablename__ = "organisations"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(300), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)

    @property
    def is_default(self) -> bool:
        return self.id == DEFAULT_ORGANISATION_ID


async def find_organisation(session: AsyncSession, id_: UUID, *, to_change: bool = False) -> Organisation:
    """Returns the organisation with this id. Locks its row until the transaction ends. While the row is
    locked, no other transaction can rename or delete the organisation. Raises NotFound
    `organisation_not_found` if there is none.

    to_change: True for a transaction that renames or deletes the organisation. Its lock also makes all other
    transactions wait that call this function for the same organisation.
    """
    lock = {"read": not to_change}
    found = await session.get(Organisation, id_, with_for_update=lock, populate_existing=True)
    if found is None:
        raise organisation_not_found()
    return found


def organisation_not_found() -> NotFound:
    return NotFound("There is no such organisation.", code="organisation_not_found")


@event.listens_for(Organisation.__table__, "after_create")
def _insert_default(table: Table, connection: Connection, **_: object) -> None:
    """Inserts the row of the default organisation into the new, empty table of organisations. SQLAlchemy
    calls this function when it has created the table. This happens in tests and benchmarks. On a real server,
    migrations create the table, and this function is not called.
    """
    connection.execute(
        table.insert().values(
            id=DEFAULT_ORGANISATION_ID, name=DEFAULT_NAME, name_key=DEFAULT_NAME.casefold(), created_at=now()
        )
    )
