"""The database table of settings at all levels."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class Level(StrEnum):
    """Whom a value applies to: all users of an organisation, the members of a team, or one person."""

    ORGANISATION = "organisation"
    TEAM = "team"
    USER = "user"


class SettingName(StrEnum):
    """The settings that can be set at several levels. The last eight are quotas: see quotas.py."""

    CONFIRMATION_MODE = "confirmation_mode"
    MAX_ITERATIONS = "max_iterations"
    SANDBOX_GROUPING_STRATEGY = "sandbox_grouping_strategy"
    COMMIT_TRAILER = "commit_trailer"
    CLONE = "clone"
    SUBMODULES = "submodules"
    MAX_BUDGET_PER_TASK = "max_budget_per_task"
    LLM_PROFILE = "llm_profile"
    MONTHLY_BUDGET = "monthly_budget"
    RUNNING_SANDBOXES = "running_sandboxes"
    STARTS_PER_HOUR = "starts_per_hour"
    PARALLEL_MODEL_CALLS = "parallel_model_calls"
    ORGANISATION_RUNNING_SANDBOXES = "organisation_running_sandboxes"
    ORGANISATION_STARTS_PER_HOUR = "organisation_starts_per_hour"
    EVENTS_PER_CONVERSATION = "events_per_conversation"
    STORAGE_GIB = "storage_gib"
    ORGANISATION_STORAGE_GIB = "organisation_storage_gib"


class LevelItemKind(StrEnum):
    """The kinds of items that the organisation and teams give to their members. See items.py."""

    SECRET = "secret"  # noqa: S105 (a kind of thing)
    MCP_SERVER = "mcp_server"
    EGRESS_RULE = "egress_rule"
    SANDBOX_SPEC = "sandbox_spec"


MAX_NAME_CHARACTERS = 300


class LevelSetting(Base):
    """One row of the table of settings at all levels: one value of one setting, or one item, at one level.

    name: a SettingName, or for an item `kind:name`. value: for an item, the part that all members may read.
    sealed_encrypted: for an item, the encrypted secret part; None if there is none. owner_id: the id of the
    organisation, the team or the user. team_id, user_id: a copy of `owner_id` for the levels TEAM and USER,
    so that the row is deleted with its owner. enforced: lower levels cannot override the value; always False
    for users. set_by: the user who has set the value; None if the account is deleted.
    """

    __tablename__ = "level_settings"

    owner_id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(MAX_NAME_CHARACTERS), primary_key=True)
    level: Mapped[Level] = mapped_column(enum_column(Level))
    team_id: Mapped[UUID | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    value: Mapped[Any] = mapped_column(JSON)
    sealed_encrypted: Mapped[str | None] = mapped_column(Text)
    enforced: Mapped[bool]
    set_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
