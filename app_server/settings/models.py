"""Database tables of user settings: model profiles, and settings for all tasks."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import JSON, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.settings.options import ProfileOptions

RECORDED_PREFIX = "recorded/"
DEFAULT_MAX_ITERATIONS = 500


def is_recorded(model: str) -> bool:
    """Returns whether `model` names a recording: stored replies that are replayed in place of a model. A
    recording needs no key, costs nothing and uses no network.
    """
    return model.startswith(RECORDED_PREFIX)


class LLMProfile(Base):
    """One row of the table of model profiles: a named model configuration of a user. The database ensures
    that each user has at most one active profile.
    """

    __tablename__ = "llm_profiles"
    __table_args__ = (
        UniqueConstraint("user_id", "name"),
        Index(
            "uq_llm_profiles_active",
            "user_id",
            unique=True,
            sqlite_where=text("is_active"),
            postgresql_where=text("is_active"),
        ),
        Index("uq_llm_profiles_shared", "shared_in", "name", unique=True),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(64))
    model: Mapped[str] = mapped_column(String(200))
    base_url: Mapped[str | None] = mapped_column(String(2000))
    api_key_encrypted: Mapped[str | None] = mapped_column(Text)
    max_budget_per_task: Mapped[float | None]
    """The limit in dollars. None means no limit."""
    input_cost_per_token: Mapped[float | None]
    """Dollars per token, for models without a listed price. The same applies to the next column."""
    output_cost_per_token: Mapped[float | None]
    options: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """The ProfileOptions that are set."""
    extra_headers_encrypted: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """The encrypted value by the header's name. Only calls from this server contain these headers."""
    is_active: Mapped[bool] = mapped_column(default=False)
    shared_in: Mapped[UUID | None]
    """The organisation whose users may all use the profile. None means that it is not shared. It counts only
    while its owner is an administrator of this organisation.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)

    @property
    def is_shared(self) -> bool:
        return self.shared_in is not None

    @property
    def api_key_set(self) -> bool:
        return self.api_key_encrypted is not None

    @property
    def chosen(self) -> ProfileOptions:
        return ProfileOptions.model_validate(self.options or {})

    @property
    def extra_header_names(self) -> list[str]:
        return sorted(self.extra_headers_encrypted or {})

    @property
    def is_recording(self) -> bool:
        return is_recorded(self.model)


class UserSettings(Base):
    """One row of the table of user settings: a user's settings for all tasks. Settings that teams and the
    organisation can also set are stored by `app_server.levels`.
    """

    __tablename__ = "user_settings"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    git_user_name: Mapped[str | None] = mapped_column(String(200))
    """The name of the author of agents' commits. None means Slipway. The same applies to the next column."""
    git_user_email: Mapped[str | None] = mapped_column(String(200))
    commit_trailers: Mapped[dict[str, Any] | None]
    """CommitTrailer values by the identity of repositories, `host/owner/name`. They count most."""
    shared_profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("llm_profiles.id", ondelete="SET NULL"))
    """A shared model profile that the user uses instead of an own profile."""
    registered_marketplaces: Mapped[list[dict[str, Any]]] = mapped_column(
        JSON, default=list, server_default="[]"
    )
    """The user's marketplaces, without their scope."""
