"""Database tables of the users' model profiles, and of user settings that apply to all conversations of a
user.
"""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import JSON, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.settings.options import ProfileOptions

RECORDED_PREFIX = "recorded/"
DEFAULT_MAX_ITERATIONS = 500
_INHERITED = "inherited_address"


def is_recorded(model: str) -> bool:
    """Returns whether `model` is the name of a recording instead of a model. A recording consists of stored
    model replies that are replayed. It needs no key, costs nothing and uses no network.
    """
    return model.startswith(RECORDED_PREFIX)


class LLMProfile(Base):
    """The database row of a model profile, which is a named model configuration of a user. Each user has at
    most one active profile, which new conversations use by default. The database ensures this.
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
    """The maximum cost of one conversation, in dollars. None means no limit."""
    input_cost_per_token: Mapped[float | None]
    """The price of an input token in dollars, as entered by the user. None means that the price in the model
    catalogue applies. The column `output_cost_per_token` is the price of an output token.
    """
    output_cost_per_token: Mapped[float | None]
    options: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """The fields of ProfileOptions whose values differ from the defaults. Also contains `inherited_address`
    with the value true if `has_inherited_address`.
    """
    extra_headers_encrypted: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default="{}")
    """HTTP headers that are added to each model call. The key is the name of the header; the value is
    encrypted. Only the app server adds these headers, so sandboxes never get them.
    """
    is_active: Mapped[bool] = mapped_column(default=False)
    shared_in: Mapped[UUID | None]
    """The organisation whose users may all use this profile; None if the profile is not shared. The profile
    is shared only as long as its owner is an administrator of this organisation.
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
    def has_inherited_address(self) -> bool:
        """Whether `base_url` was entered by a person who has left and did not administer the installation.
        Then `base_url` must not lead into the private network, also if the present owner may call addresses
        there. This ends when the owner saves the address again.
        """
        return self.base_url is not None and (self.options or {}).get(_INHERITED) is True

    def mark_inherited_address(self) -> None:
        self.options = {**(self.options or {}), _INHERITED: True}

    @property
    def extra_header_names(self) -> list[str]:
        return sorted(self.extra_headers_encrypted or {})

    @property
    def is_recording(self) -> bool:
        return is_recorded(self.model)


class UserSettings(Base):
    """The database row of a user's settings that apply to all conversations of the user. Settings that the
    organisation and teams can set too are not in this table: see `app_server.levels`.
    """

    __tablename__ = "user_settings"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    git_user_name: Mapped[str | None] = mapped_column(String(200))
    """The author's name in commits of the user's agents. None means the name Slipway. The column
    `git_user_email` is the author's e-mail address.
    """
    git_user_email: Mapped[str | None] = mapped_column(String(200))
    commit_trailers: Mapped[dict[str, Any] | None]
    """The last lines of commit messages (values of CommitTrailer) that the user has chosen for single
    repositories. The key is the repository, as `host/owner/name`. These values have priority over all other
    settings for commit trailers.
    """
    shared_profile_id: Mapped[UUID | None] = mapped_column(ForeignKey("llm_profiles.id", ondelete="SET NULL"))
    """The shared model profile that the user has made active; None if the active profile is the
    user's own.
    """
    registered_marketplaces: Mapped[list[dict[str, Any]]] = mapped_column(
        JSON, default=list, server_default="[]"
    )
    """The marketplaces (git repositories that list plugins and skills) that the user has registered, each as
    a dictionary. The field `scope` is left out, because these marketplaces are only for this user.
    """
