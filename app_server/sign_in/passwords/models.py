"""The database tables of the sign-in by password: password hashes, secrets of authenticator apps, recovery
codes, and counts of failed attempts.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class PasswordLogin(Base):
    """One row of the table of passwords: the login name and the password of a user who has one. The password
    is stored as its Argon2id hash.
    """

    __tablename__ = "password_logins"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    login_name: Mapped[str] = mapped_column(String(200), unique=True)
    """The login name in the form that `policy.login_key` returns."""
    password_hash: Mapped[str] = mapped_column(String(255))
    changed_at: Mapped[datetime] = mapped_column(default=now)


class TotpSecret(Base):
    """One row of the table of authenticator apps: the secret that a user's app and the server share. Sign-ins
    need codes of the app only after the user has entered one code, which confirms the secret.
    """

    __tablename__ = "totp_secrets"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    secret_encrypted: Mapped[str] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(default=now)
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int | None]
    """The 30-second step of the last accepted code. Codes of this step and of earlier steps are refused."""


class RecoveryCode(Base):
    """One row of the table of recovery codes. A recovery code can be entered in place of one code of the
    authenticator app. Only its SHA-256 hash is stored, and the row is deleted when the code is used.
    """

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class SignInThrottle(Base):
    """One row of the table of failed attempts: the number of failures of one counter, such as the counter for
    a login name or for a client address. The row is deleted when there was no new failure for a day.
    """

    __tablename__ = "sign_in_throttles"

    key_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    failures: Mapped[int]
    """The number of failures. Attempts that are still being checked count as failures."""
    last_at: Mapped[datetime] = mapped_column(index=True)
    blocked_until: Mapped[datetime | None]
