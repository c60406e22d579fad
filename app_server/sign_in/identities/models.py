"""The database table that says which identity at a provider belongs to which account."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class ExternalIdentity(Base):
    """One row of the table of identities: a person at a provider, and the account of this person. `subject`:
    the provider's id of the person. The name and the e-mail address do not identify the person, because
    another person may get them later.
    """

    __tablename__ = "external_identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    email: Mapped[str | None] = mapped_column(String(320))
    """The e-mail address that the provider has verified, as of the last sign-in; null if the provider sent no
    address or has not verified it.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)
