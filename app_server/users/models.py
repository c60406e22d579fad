"""Who acts: users, their API keys, their browser sessions, and one-time sign-in links."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


ADMINISTRATORS = frozenset((Role.OWNER, Role.ADMIN))
"""The roles that run this installation."""


class User(Base):
    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[Role] = mapped_column(enum_column(Role))
    created_at: Mapped[datetime] = mapped_column(default=now)
    signed_in_at: Mapped[datetime | None]
    """The last time."""
    disabled_at: Mapped[datetime | None]
    """Since when the user cannot sign in, and none of their keys and sessions counts."""


class ApiKey(Base):
    """A key that acts for its user. Only its SHA-256 is kept.

    `scopes`: names of permissions that it is limited to; None: all that its user may do.
    `addresses`: networks that it is limited to; None: it counts from everywhere.
    """

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(16))
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any] | None]
    addresses: Mapped[list[Any] | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class WebSession(Base):
    """A signed-in browser. Only the SHA-256 of the cookie and of the proof of its pages are kept.

    Browsers send the cookie to every port of our host. The proof is kept where only pages of our own origin
    can read it, so that the cookie alone opens nothing.
    """

    __tablename__ = "web_sessions"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[UUID] = mapped_column(unique=True, default=uuid4)
    proof_hash: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    user_agent: Mapped[str | None] = mapped_column(String(300))
    """Of the browser when it signed in; so is the next."""
    address: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime | None]
    """To within an hour."""
    expires_at: Mapped[datetime]
    """Moved on by use, up to a last moment: see `session_days` and `session_max_days`."""
    identity_id: Mapped[UUID | None] = mapped_column(index=True)
    """By which person of a provider it was signed in, see sign_in/oidc; null: by a link."""
    provider_session: Mapped[str | None] = mapped_column(String(255))
    """The provider's name of the sign-in there, if it has one."""


class SignInLink(Base):
    """A one-time token that is traded for a browser session."""

    __tablename__ = "sign_in_links"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    identity_id: Mapped[UUID | None]
    """Handed on to the session; so is the next."""
    provider_session: Mapped[str | None] = mapped_column(String(255))
