"""Tables of incoming webhooks and of the deliveries that they have brought."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.git.providers import GitProvider


class IncomingHook(Base):
    """A webhook that a git host calls for a user.

    `origin`: the host, `https://github.com`. `label`: puts the agent to work on an issue or pull request.
    `previous_secret_encrypted`: also accepted until `previous_secret_until`.
    """

    __tablename__ = "incoming_hooks"
    __table_args__ = (Index(None, "user_id", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    provider: Mapped[GitProvider] = mapped_column(enum_column(GitProvider))
    origin: Mapped[str] = mapped_column(String(300))
    label: Mapped[str] = mapped_column(String(100), default="slipway")
    secret_encrypted: Mapped[str] = mapped_column(Text)
    previous_secret_encrypted: Mapped[str | None] = mapped_column(Text)
    previous_secret_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_delivery_at: Mapped[datetime | None]


class IncomingDelivery(Base):
    """A delivery that was accepted. `delivery_id`: the host's id, or a hash of the body if it names none."""

    __tablename__ = "incoming_deliveries"
    __table_args__ = (UniqueConstraint("hook_id", "delivery_id"), Index(None, "created_at"))

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    hook_id: Mapped[UUID] = mapped_column(ForeignKey(IncomingHook.id, ondelete="CASCADE"))
    delivery_id: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(default=now)
