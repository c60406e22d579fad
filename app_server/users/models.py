"""The database tables of users, their API keys, their browser sessions, and one-time sign-in links."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.users.organisations import DEFAULT_ORGANISATION_ID


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


ADMINISTRATORS = frozenset((Role.OWNER, Role.ADMIN))
"""The roles whose users are administrators of their organisation."""


def administers_installation(role: Role, organisation_id: UUID) -> bool:
    """Returns whether a user with this role in this organisation is an administrator of the installation.
    These administrators manage what all organisations share, such as servers, sandbox hosts and networks.

    Only the administrators of the default organisation are administrators of the installation. Other code
    calls this function and does not repeat the rule.
    """
    return role in ADMINISTRATORS and organisation_id == DEFAULT_ORGANISATION_ID


class User(Base):
    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[Role] = mapped_column(enum_column(Role))
    """The role of the user, which decides what the user may do in the organisation."""
    organisation_id: Mapped[UUID] = mapped_column(
        index=True, default=DEFAULT_ORGANISATION_ID, server_default=text(f"'{DEFAULT_ORGANISATION_ID.hex}'")
    )
    """The id of the user's organisation. The column has no foreign key, because SQLite cannot add one to a
    table that has rows. Instead, a request that deletes an organisation and a request that adds a user to it
    both lock the organisation's row.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)
    signed_in_at: Mapped[datetime | None]
    """The time of the user's last sign-in; None if the user has never signed in."""
    disabled_at: Mapped[datetime | None]
    """The time when the account was disabled; None if it is not disabled. A disabled user cannot sign in, and
    the user's API keys and browser sessions are not accepted.
    """
    is_service: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the account is a service account. A service account cannot sign in. Programs use it with its
    API keys.
    """
    deleting_at: Mapped[datetime | None]
    """The time when the deletion of the user began; None if the user is not being deleted. First the user's
    data are deleted, then this row.
    """

    @property
    def administers_installation(self) -> bool:
        return administers_installation(self.role, self.organisation_id)

    @property
    def is_of_default_organisation(self) -> bool:
        return self.organisation_id == DEFAULT_ORGANISATION_ID


class ApiKey(Base):
    """The database row of an API key. A program that sends the key acts as the user of the key. Only the
    SHA-256 hash of the key is stored.

    `prefix`: the first characters of the key, by which the user recognises it. `scopes`: the names of the
    permissions to which the key is limited; None means all permissions of the user. `addresses`: the networks
    from which the key is accepted; None means all networks.
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
    """The database row of a browser session: a browser in which a user is signed in.

    Each request needs two secrets: a cookie and a page proof. Browsers send the cookie to every port of the
    server's host, so the cookie alone gives no access. The page proof is stored where only pages of Slipway
    can read it. The database contains only the SHA-256 hashes of both secrets.
    """

    __tablename__ = "web_sessions"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[UUID] = mapped_column(unique=True, default=uuid4)
    proof_hash: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str | None] = mapped_column(String(100))
    """The name that the user has given to the browser; None if the user has given no name."""
    user_agent: Mapped[str | None] = mapped_column(String(300))
    """The User-Agent header of the browser at the sign-in. The field `address` is the IP address of the
    browser at the sign-in.
    """
    address: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime | None]
    """The time of the last use of the session. The precision is one hour."""
    expires_at: Mapped[datetime]
    """The time when the session ends. Each use of the session sets a later time, up to a maximum: see
    `session_days` and `session_max_days` in the configuration.
    """
    identity_id: Mapped[UUID | None] = mapped_column(index=True)
    """The user's identity at the identity provider where the user has signed in, see sign_in/oidc. None for
    other kinds of sign-in.
    """
    provider_session: Mapped[str | None] = mapped_column(String(255))
    """The identity provider's id of the session at the provider; None if there is no such id."""


class SignInLink(Base):
    """The database row of a sign-in link. The link can be opened only once. The browser that opens the link
    is then signed in as the user. Only the SHA-256 hash of the token in the link is stored.
    """

    __tablename__ = "sign_in_links"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    identity_id: Mapped[UUID | None]
    """The user's identity at an identity provider; None if the link was not created by a sign-in at a
    provider. This field and `provider_session` are copied into the browser session that the link opens.
    """
    provider_session: Mapped[str | None] = mapped_column(String(255))
