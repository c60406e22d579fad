"""Database tables of installed skills, of users' choices to switch skills on or off, and of the skills that
were found in registered marketplaces.
"""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import JSON, ForeignKey, Index, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500
EVERYWHERE = ""
"""The value of `repository` for a choice that applies to all repositories, and to conversations without a
repository.
"""


class InstalledSkill(Base):
    """The database row of an installed skill. The row contains the text that agents get.

    `user_id`: the user who has installed the skill; None if it is installed for all users of this
    installation. `marketplace`: the name of the registered marketplace that the skill comes from; None if it
    comes from another repository or is part of Slipway. `source`: the repository that the skill comes from;
    None if the skill is part of Slipway. `path`: the path of its SKILL.md in this repository. `commit_id`:
    the commit at which `text` was read. `other_files`: the number of files in the skill's directory in
    addition to SKILL.md; agents do not get them.

    The server compares the skill with its source once a day. `checked_at`: the time of the last comparison.
    `has_update`: whether the text at the source differed from the installed text at that time.
    `check_problem`: the reason why the last comparison failed; None if it succeeded.
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
    """The database row of a user's choice whether new conversations load the skill with this name.

    `repository`: the repository to which the choice applies, such as `github.com/owner/name`; an empty text
    (EVERYWHERE) means all conversations. A choice for one repository overrides the choice for all
    conversations. `is_enabled`: True switches the skill on, False switches it off.
    """

    __tablename__ = "skill_choices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS), primary_key=True)
    is_enabled: Mapped[bool]


class SkillRepository(Base):
    """The database row with the skills that were found in a registered marketplace when it was read last.

    `user_id`: the user who has registered the marketplace; None if it is registered for all users.
    `marketplace`: the name of the marketplace. `place`: the location that was read: the Git repository
    (`source`), the Git ref (`ref`) and the path (`repo_path`). If the marketplace has another location now,
    the row is outdated and is not used. `skills`: objects with the name, description and path of each skill.
    `problems`: sentences about skills that cannot be used, or about the repository if it could not be read.
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
