"""The database table of users' decisions about what repositories may run."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MAX_REPOSITORY_CHARACTERS = 500


class Decision(StrEnum):
    ALLOWED = "allowed"
    REFUSED = "refused"


class TrustGrant(Base):
    """A user's decision whether a repository may run one thing, such as a hook, at one version.

    `repository`: an Address.identity. `hash`: identifies the version. `offer`: the description that the user
    was shown, so that a later version can be compared with it.
    """

    __tablename__ = "consents"
    __table_args__ = (UniqueConstraint("user_id", "repository", "hash"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS))
    kind: Mapped[str] = mapped_column(String(20))
    path: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    hash: Mapped[str] = mapped_column(String(64))
    decision: Mapped[Decision] = mapped_column(enum_column(Decision))
    offer: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
