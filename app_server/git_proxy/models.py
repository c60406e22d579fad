"""The database table of the git pushes that agents have made or tried."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class PushOutcome(StrEnum):
    """The result of a push. `accepted`: the git host has changed the ref. `refused`: Slipway has refused the
    push. `rejected`: the git host has refused the change. `unknown`: the push is not finished, or it was
    interrupted before the host reported a result.
    """

    REFUSED = "refused"
    UNKNOWN = "unknown"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class GitPush(Base):
    """One row of the table of git pushes: one ref (branch or tag) that an agent's push changes. The rows
    remain when the sandbox is deleted, so that an administrator can still find out which agent pushed what.
    """

    __tablename__ = "git_pushes"
    __table_args__ = (Index(None, "sandbox_id", "repository", "ref"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    sandbox_id: Mapped[UUID]
    repository: Mapped[str] = mapped_column(Text)
    """The repository's name, as `host/owner/name`."""
    ref: Mapped[str] = mapped_column(Text)
    old_commit: Mapped[str] = mapped_column(String(64))
    new_commit: Mapped[str] = mapped_column(String(64))
    outcome: Mapped[PushOutcome] = mapped_column(enum_column(PushOutcome))
    reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
