"""A sandbox as it is remembered: whose it is, its key, how it stands."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.database import Base, now
from app_server.users.models import User


class SandboxStatus(StrEnum):
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    ERROR = "ERROR"
    MISSING = "MISSING"


class Sandbox(Base):
    """An isolated machine that runs one agent server. Its id is that of its conversation.

    RUNNING says that it ought to run: after a restart of the app server, or when its agent server dies, it
    is brought up again. The session key is found by its SHA-256; the encrypted one is for our own calls.
    """

    __tablename__ = "sandboxes"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    status: Mapped[SandboxStatus] = mapped_column(String(20), index=True)
    session_key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    encrypted_session_key: Mapped[str] = mapped_column(Text)
    spec_id: Mapped[str] = mapped_column(String(200))
    """What it was started from: the image of a container, or `process`."""
    working_dir: Mapped[str | None] = mapped_column(Text)
    """The conversation's directory inside the sandbox, once its repository stands there."""
    error: Mapped[dict[str, Any] | None]
    """Why it stands in ERROR: `{code, cause, fix, output}`."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
