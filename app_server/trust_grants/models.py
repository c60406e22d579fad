"""The database table of users' decisions about project executables. A project executable is a part of a
repository that runs programs if the user allows it, such as a hook or an MCP server.
"""

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
    """The database row of a user's decision about one project executable of a repository, such as a hook or
    an MCP server. The user has allowed or refused to run it. The decision applies to one version of the
    project executable.

    `repository`: the identity of the repository (see Address.identity), such as `github.com/owner/name`.
    `path`: the file that defines the project executable. `hash`: a SHA-256 hash that identifies the version.
    `offer`: the description of the project executable that Slipway showed to the user for the decision. If an
    allowed project executable changes later, Slipway can show the user this description beside the new one.
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
