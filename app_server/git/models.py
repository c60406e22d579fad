"""Database tables of the users' tokens for git hosts, and of the OAuth applications with which users sign in
to git hosts.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.git.providers import GitProvider


class PushScope(StrEnum):
    """The values of the setting that says which branches a user's agents may push to. `own`: only branches
    that the agent's conversation has created. `any`: all branches.
    """

    OWN = "own"
    ANY = "any"


class GitCredential(Base):
    """One row of the table of tokens: the token of one user for one git host. `origin`: the host as a URL
    without a path, such as `https://github.com`. No route returns the token.
    """

    __tablename__ = "git_credentials"
    __table_args__ = (UniqueConstraint("user_id", "origin"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    origin: Mapped[str] = mapped_column(String(300))
    provider: Mapped[GitProvider | None] = mapped_column(enum_column(GitProvider))
    """The kind of git host, as the user has stated it. None means that the kind is guessed from the host's
    name (provider_of).
    """
    api_url: Mapped[str | None] = mapped_column(String(500))
    """The address of the host's API. None means the usual address for this kind of git host."""
    certificate_authorities: Mapped[str | None] = mapped_column(Text)
    """Additional certificate authorities for this host only, as PEM. None means that there are none."""
    username: Mapped[str | None] = mapped_column(String(200))
    token_encrypted: Mapped[str] = mapped_column(Text)
    push_scope: Mapped[PushScope] = mapped_column(enum_column(PushScope))
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class GitOAuthApp(Base):
    """One row of the table of registered applications: an OAuth application or GitHub App that an
    administrator has registered at a git host. Users sign in to the host with it. `origin`: the host as a URL
    without a path.

    `api_url`, `sign_in_url`: the addresses of the host's API and of its sign-in; None means the usual address
    of the provider. `private_key_encrypted`: the private key in PEM form, encrypted; only for a GitHub App.
    `scopes`: the permissions that a sign-in asks for, separated by spaces; None means the usual scopes for
    the provider. `certificate_authorities`: additional certificate authorities for the host, as PEM.
    """

    __tablename__ = "git_oauth_apps"
    __table_args__ = (UniqueConstraint("origin"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    origin: Mapped[str] = mapped_column(String(300))
    provider: Mapped[GitProvider] = mapped_column(enum_column(GitProvider))
    api_url: Mapped[str | None] = mapped_column(String(500))
    sign_in_url: Mapped[str | None] = mapped_column(String(500))
    client_id: Mapped[str] = mapped_column(String(300))
    client_secret_encrypted: Mapped[str | None] = mapped_column(Text)
    private_key_encrypted: Mapped[str | None] = mapped_column(Text)
    scopes: Mapped[str | None] = mapped_column(Text)
    certificate_authorities: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class GitGrant(Base):
    """One row of the table of tokens that were granted by a sign-in. The row contains the data to renew the
    token of a GitCredential. A token that the user has pasted has no such row.

    `app_id`: the OAuth application of the sign-in; None if an administrator has removed the application. Then
    the token cannot be renewed. `installation_id`: if the token belongs to an installation of a GitHub App,
    the id of this installation; None if the token belongs to the user. `expires_at`: when the token expires.
    `renew_at`: when the token is due for renewal, before it expires. `expires_at` and `renew_at` are None if
    the token does not expire.

    `is_refused`: whether a renewal of the token has failed for good, for example because the host has refused
    it. If so, the user must sign in to the host again. `claimed_until`: while one app server renews the
    token, the time until which the other app servers must not renew it; None if no app server renews it.
    `version`: is increased by each renewal.
    """

    __tablename__ = "git_grants"

    credential_id: Mapped[UUID] = mapped_column(
        ForeignKey(GitCredential.id, ondelete="CASCADE"), primary_key=True
    )
    app_id: Mapped[UUID | None] = mapped_column(ForeignKey(GitOAuthApp.id, ondelete="SET NULL"), index=True)
    refresh_token_encrypted: Mapped[str | None] = mapped_column(Text)
    installation_id: Mapped[str | None] = mapped_column(String(40))
    scopes: Mapped[str | None] = mapped_column(Text)
    expires_at: Mapped[datetime | None]
    renew_at: Mapped[datetime | None]
    is_refused: Mapped[bool] = mapped_column(default=False)
    claimed_until: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=1)
