"""What signs people in by password: hashes, secrets of authenticator apps, and how often it went wrong."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class PasswordLogin(Base):
    """The login name and the password of a user who has one. The password is kept as its Argon2id hash."""

    __tablename__ = "password_logins"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    login_name: Mapped[str] = mapped_column(String(200), unique=True)
    """As `policy.login_key` writes it."""
    password_hash: Mapped[str] = mapped_column(String(255))
    changed_at: Mapped[datetime] = mapped_column(default=now)


class TotpSecret(Base):
    """What a user's authenticator app and the server share. It counts once a code has confirmed it."""

    __tablename__ = "totp_secrets"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    secret_encrypted: Mapped[str] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(default=now)
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int | None]
    """The step of 30 seconds whose code was accepted last: neither it nor an earlier one counts again."""


class RecoveryCode(Base):
    """Stands in for one code of the authenticator app. Only its SHA-256 is kept; use deletes it."""

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class SignInThrottle(Base):
    """How often signing in has failed for one login name, or from one address. Kept for a day."""

    __tablename__ = "sign_in_throttles"

    key_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    failures: Mapped[int]
    """Attempts that are under way count as well."""
    last_at: Mapped[datetime] = mapped_column(index=True)
    blocked_until: Mapped[datetime | None]
