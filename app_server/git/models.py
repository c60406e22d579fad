"""The users' stored tokens for git hosts."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.git.providers import GitProvider


class PushScope(StrEnum):
    """The branches that agents may push to: only branches that their own conversation made (`own`), or any
    branch (`any`).
    """

    OWN = "own"
    ANY = "any"


class GitCredential(Base):
    """A user's token for one git host. `origin` is the host as a URL without a path, `https://github.com`.
    The token is never shown again.
    """

    __tablename__ = "git_credentials"
    __table_args__ = (UniqueConstraint("user_id", "origin"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    origin: Mapped[str] = mapped_column(String(300))
    provider: Mapped[GitProvider | None] = mapped_column(enum_column(GitProvider))
    """What kind of host it is, as the user has stated it. None: the host's name decides (provider_of)."""
    api_url: Mapped[str | None] = mapped_column(String(500))
    """Where the host's API is. None: where its provider has it."""
    username: Mapped[str | None] = mapped_column(String(200))
    token_encrypted: Mapped[str] = mapped_column(Text)
    push_scope: Mapped[PushScope] = mapped_column(enum_column(PushScope))
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
