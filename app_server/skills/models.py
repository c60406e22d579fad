"""Database tables of installed skills, of choices which skills are loaded, and of the skills in registered
marketplaces.
"""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import JSON, ForeignKey, Index, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500
EVERYWHERE = ""
"""The repository of a choice that applies to all repositories and to conversations without one."""


class InstalledSkill(Base):
    """An installed skill with its text. A skill without a user is installed for everyone on this server.

    `marketplace`: the registered repository that the skill comes from; None for a public skill of the
    product, and for a skill that was installed from an address. `source`: the address of its repository; None
    for a public skill of the product. `commit_id`: the commit of `text`. `other_files`: the number of further
    files in its directory; agents do not get them. `checked_at`: when the skill was compared with its source;
    `has_update`: whether the source had another text then; `check_problem`: why the last comparison failed.
    """

    __tablename__ = "installed_skills"
    __table_args__ = (
        Index(
            "uq_installed_skills_own",
            "user_id",
            "name",
            unique=True,
            sqlite_where=text("user_id IS NOT NULL"),
            postgresql_where=text("user_id IS NOT NULL"),
        ),
        Index(
            "uq_installed_skills_shared",
            "name",
            unique=True,
            sqlite_where=text("user_id IS NULL"),
            postgresql_where=text("user_id IS NULL"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(64))
    description: Mapped[str] = mapped_column(Text)
    marketplace: Mapped[str | None] = mapped_column(String(64))
    source: Mapped[str | None] = mapped_column(String(2000))
    ref: Mapped[str | None] = mapped_column(String(256))
    repo_path: Mapped[str | None] = mapped_column(String(1000))
    path: Mapped[str] = mapped_column(String(1000))
    commit_id: Mapped[str | None] = mapped_column(String(64))
    text: Mapped[str] = mapped_column(Text)
    other_files: Mapped[int]
    installed_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    has_update: Mapped[bool] = mapped_column(default=False, server_default=false())
    checked_at: Mapped[datetime | None]
    check_problem: Mapped[str | None] = mapped_column(Text)


class SkillChoice(Base):
    """A user's choice whether conversations load the skill with this name.

    `repository`: an Address.identity, or EVERYWHERE. A choice for a repository overrides the choice for
    everywhere.
    """

    __tablename__ = "skill_choices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS), primary_key=True)
    is_enabled: Mapped[bool]


class SkillRepository(Base):
    """The skills that a registered marketplace had when it was read last. Without a user, the marketplace is
    for everyone.

    `place`: the registration of the marketplace at that time. `skills`: objects with name, description and
    path. `problems`: sentences about skills that cannot be used.
    """

    __tablename__ = "skill_repositories"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    marketplace: Mapped[str] = mapped_column(String(64))
    place: Mapped[dict[str, Any]] = mapped_column(JSON)
    commit_id: Mapped[str | None] = mapped_column(String(64))
    skills: Mapped[list[Any]] = mapped_column(JSON)
    problems: Mapped[list[Any]] = mapped_column(JSON)
    read_at: Mapped[datetime] = mapped_column(default=now)
