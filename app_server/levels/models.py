"""The database table of the settings and items of organisations, teams and users."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class Level(StrEnum):
    """The levels at which a setting or an item can be set. Each level stands for a group of users: all users
    of an organisation, the members of a team, or one user.
    """

    ORGANISATION = "organisation"
    TEAM = "team"
    USER = "user"


class SettingName(StrEnum):
    """The names of the settings that an organisation, its teams and single users can set. RUNNING_SANDBOXES
    and all later members are quotas: limits on how much users may use (quotas.py).
    """

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
    """The kinds of items that an organisation or a team can provide to all its members: a secret, an MCP
    server, a rule for network access of sandboxes, or a sandbox spec (the image and settings of new
    sandboxes).
    """

    SECRET = "secret"  # noqa: S105 (a kind of thing)
    MCP_SERVER = "mcp_server"
    EGRESS_RULE = "egress_rule"
    SANDBOX_SPEC = "sandbox_spec"


MAX_NAME_CHARACTERS = 300


class LevelSetting(Base):
    """A row of the table of settings and items. A row is one setting of an organisation, a team or a user, or
    one item of an organisation or a team. An item is something that is provided to all members: a secret, an
    MCP server, a network rule or a sandbox spec (the image and settings of new sandboxes).

    owner_id: the id of the organisation, team or user that the row belongs to. team_id: equal to `owner_id`
    if the owner is a team, otherwise None. user_id: equal to `owner_id` if the owner is a user, otherwise
    None. Both are foreign keys, so the database deletes the row with its owner.

    name: the name of the setting (a SettingName), or `kind:name` for an item. value: the value of the
    setting; for an item, the part that all members may read. sealed_encrypted: the encrypted part of an item;
    None if there is none. enforced: whether lower levels are forbidden to override the value. Teams are below
    the organisation, and users are below teams. set_by: the user who has set the value; None if this user's
    account is deleted.
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
