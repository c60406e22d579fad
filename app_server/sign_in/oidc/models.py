"""Which account belongs to which person of a provider."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class ExternalIdentity(Base):
    """A person of a provider, told by the provider's `sub`: names and e-mail addresses may change hands."""

    __tablename__ = "external_identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    email: Mapped[str | None] = mapped_column(String(320))
    """As the provider said at the last sign-in; null: it did not, or has not verified it."""
    created_at: Mapped[datetime] = mapped_column(default=now)
