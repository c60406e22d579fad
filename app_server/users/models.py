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
"""The roles that administer an organisation."""


def administers_installation(role: Role, organisation_id: UUID) -> bool:
    """Returns whether a user with this role and organisation administers the installation: its servers,
    sandbox hosts, networks and everything else that organisations share.

    No other code decides this. Only administrators of the default organisation administer the installation.
    An administrator of another organisation has no more rights over it than a member.
    """
    return role in ADMINISTRATORS and organisation_id == DEFAULT_ORGANISATION_ID


class User(Base):
    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[Role] = mapped_column(enum_column(Role))
    """What the user may do in the organisation."""
    organisation_id: Mapped[UUID] = mapped_column(
        index=True, default=DEFAULT_ORGANISATION_ID, server_default=text(f"'{DEFAULT_ORGANISATION_ID.hex}'")
    )
    """There is no foreign key, because SQLite cannot add one to a table with rows. A deletion of an
    organisation locks its row, and so does a request that puts a person into it.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)
    signed_in_at: Mapped[datetime | None]
    """When the user signed in last."""
    disabled_at: Mapped[datetime | None]
    """Since when the user is disabled: the user cannot sign in, and their keys and sessions
    are not accepted.
    """
    is_service: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the user is a service account: it cannot sign in, and only its keys act for it."""
    deleting_at: Mapped[datetime | None]
    """Since when the user is being deleted: what belongs to them is removed, and then the user."""

    @property
    def administers_installation(self) -> bool:
        return administers_installation(self.role, self.organisation_id)

    @property
    def is_of_default_organisation(self) -> bool:
        return self.organisation_id == DEFAULT_ORGANISATION_ID


class ApiKey(Base):
    """One row of the table of API keys: a key with which a program acts as the key's user. Only the SHA-256
    hash of the key is stored.

    `scopes`: names of the permissions that the key is limited to; None means all permissions of its user.
    `addresses`: networks from which the key is accepted; None means all.
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
    """One row of the table of browser sessions: a browser in which a user is signed in. Only the SHA-256
    hashes of its cookie and of its page proof are stored.

    Browsers send the cookie to every port of the server's host. The page proof is a secret that is stored
    where only pages of the server's own origin can read it. So the cookie alone gives no access.
    """

    __tablename__ = "web_sessions"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[UUID] = mapped_column(unique=True, default=uuid4)
    proof_hash: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str | None] = mapped_column(String(100))
    """The name that the user has given to the browser."""
    user_agent: Mapped[str | None] = mapped_column(String(300))
    """The browser's User-Agent header at the sign-in. The next field is the browser's address
    at the sign-in.
    """
    address: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime | None]
    """The time of the last use, exact to within an hour."""
    expires_at: Mapped[datetime]
    """Each use moves this time, up to a latest time: see `session_days` and `session_max_days`."""
    identity_id: Mapped[UUID | None] = mapped_column(index=True)
    """The identity at an identity provider that was used to sign in, see sign_in/oidc. Null for other
    sign-ins.
    """
    provider_session: Mapped[str | None] = mapped_column(String(255))
    """The provider's id of its session, if it has one."""


class SignInLink(Base):
    """One row of the table of sign-in links: a one-time link that can be exchanged for a browser session.
    Only the hash of its token is stored.
    """

    __tablename__ = "sign_in_links"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    identity_id: Mapped[UUID | None]
    """The identity at a provider. This field and the next one are copied into the session."""
    provider_session: Mapped[str | None] = mapped_column(String(255))
