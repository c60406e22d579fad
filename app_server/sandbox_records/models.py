"""A sandbox as it is remembered: whose it is, its key, how it stands."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.users.models import User

MAX_IMAGE_CHARACTERS = 300
MAX_REPOSITORY_CHARACTERS = 500


class SandboxStatus(StrEnum):
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    ARCHIVED = "ARCHIVED"
    ERROR = "ERROR"
    MISSING = "MISSING"


class ArchiveKind(StrEnum):
    ARCHIVE = "archive"
    SNAPSHOT = "snapshot"
    BACKUP = "backup"


class Sandbox(Base):
    """An isolated machine that runs one agent server. Its id is that of the conversation it was made for.

    ARCHIVED: there is no machine and no workspace, only an archive. RUNNING says that it ought to run: after
    a restart of the app server, or when its agent server dies, it is brought up again. The session key is
    found by its SHA-256; the encrypted one is for our own calls.
    """

    __tablename__ = "sandboxes"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    status: Mapped[SandboxStatus] = mapped_column(String(20), index=True)
    session_key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    encrypted_session_key: Mapped[str] = mapped_column(Text)
    session_key_expires_at: Mapped[datetime | None]
    """None until an agent server has taken it."""
    pending_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    encrypted_pending_session_key: Mapped[str | None] = mapped_column(Text)
    """Offered to the agent server, which may have taken it or not."""
    pending_session_key_expires_at: Mapped[datetime | None]
    previous_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    previous_session_key_expires_at: Mapped[datetime | None]
    spec_id: Mapped[str] = mapped_column(String(200))
    """What it was started from: the image of a container, or `process`."""
    base_image: Mapped[str | None] = mapped_column(String(MAX_IMAGE_CHARACTERS))
    """What its image is built on, if its user has chosen that; None: as the server is configured."""
    runtime_plugins: Mapped[list[Any] | None]
    """Which of those that its image has it offers; None: all."""
    found_plugins: Mapped[list[Any] | None]
    """Names of those that its agent server has found; None: it has not been asked yet."""
    server_id: Mapped[str | None] = mapped_column(String(64))
    """Of a process, where several servers share the database: the one on whose machine it is."""
    seals_specs: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether its agent server refuses conversations without a seal: none is from before there were seals."""
    archive_id: Mapped[UUID | None]
    """While it is set, the workspace is what this archive holds: its own, or a snapshot to begin from."""
    has_leftovers: Mapped[bool] = mapped_column(default=False)
    """Of one in an archive: whether a machine or a workspace may still have to be removed."""
    error: Mapped[dict[str, Any] | None]
    """Why it stands in ERROR: `{code, cause, fix, output}`."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class ServerLease(Base):
    """Which process serves under a server's id; `nonce` names it, None: it has ended in order.

    `renewals` grows while it lives. The rest says where it is: for people, and to know a restart.
    """

    __tablename__ = "server_leases"

    server_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    nonce: Mapped[str | None] = mapped_column(String(64))
    boot_id: Mapped[str] = mapped_column(String(100))
    machine_id: Mapped[str] = mapped_column(String(100))
    home_id: Mapped[str] = mapped_column(String(100))
    home: Mapped[str] = mapped_column(String(500))
    host: Mapped[str] = mapped_column(String(200))
    renewals: Mapped[int] = mapped_column(BigInteger)
    renewed_at: Mapped[datetime] = mapped_column(default=now)


class SandboxSpec(Base):
    """A base that a user has for sandboxes: an image by its name, or files that one is built from.

    `base`: its name, which for files says all that is in them. `files`: a tar, gzipped.
    """

    __tablename__ = "sandbox_specs"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    base: Mapped[str] = mapped_column(String(MAX_IMAGE_CHARACTERS), index=True)
    origin: Mapped[str | None] = mapped_column(Text)
    """Where the files came from, for people: a repository and a path in it."""
    dockerfile: Mapped[str | None] = mapped_column(Text)
    """Its text, as its user has seen it."""
    build: Mapped[dict[str, Any] | None]
    """`{dockerfile, arguments, target, files, bytes}` of BuildFiles."""
    files: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    ignored: Mapped[list[Any]]
    """What of a devcontainer.json is not used, each with why."""
    runtime_plugins: Mapped[list[Any] | None]
    """What its sandboxes offer beside the agent; None: all that the image has."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class SpecChoice(Base):
    """What a user's new sandboxes are built on. `repository`: an Address.identity; empty for all others."""

    __tablename__ = "sandbox_spec_choices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS), primary_key=True)
    spec_id: Mapped[UUID] = mapped_column(ForeignKey(SandboxSpec.id, ondelete="CASCADE"), index=True)


class Archive(Base):
    """A workspace in a file of `home`, whole and read again before its row was written.

    A snapshot holds the project alone, for new conversations to begin from. A backup is for when the host of
    the sandbox is lost.
    """

    __tablename__ = "archives"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey(Sandbox.id, ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    conversation_id: Mapped[UUID | None]
    """Of a snapshot: whose project it holds."""
    kind: Mapped[ArchiveKind] = mapped_column(enum_column(ArchiveKind))
    name: Mapped[str | None] = mapped_column(String(200))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    position: Mapped[int | None] = mapped_column(BigInteger)
    """Of a backup: how far the log had come."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class MemoryPlace(Base):
    """Memory that is reserved for a sandbox until its machine runs (capacity_reservations.py)."""

    __tablename__ = "memory_places"

    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    sandbox_id: Mapped[UUID]
    until: Mapped[datetime]
