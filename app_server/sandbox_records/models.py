"""The database tables for sandboxes: their users, keys and states, and the specs, archives and memory
reservations.
"""

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
    """A sandbox: an isolated machine that runs one agent server. Its id is the id of the conversation that it
    was made for.

    ARCHIVED: there is no machine and no workspace, only an archive. RUNNING: the sandbox should run; it is
    started again after a restart of the app server, or when its agent server dies. The session key is found
    by its SHA-256; the encrypted key is for the app server's own calls.
    """

    __tablename__ = "sandboxes"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    status: Mapped[SandboxStatus] = mapped_column(String(20), index=True)
    session_key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    encrypted_session_key: Mapped[str] = mapped_column(Text)
    session_key_expires_at: Mapped[datetime | None]
    """None until an agent server has taken the key."""
    pending_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    encrypted_pending_session_key: Mapped[str | None] = mapped_column(Text)
    """A key that was offered to the agent server. It is not known yet whether the agent server
    has taken it.
    """
    pending_session_key_expires_at: Mapped[datetime | None]
    previous_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    previous_session_key_expires_at: Mapped[datetime | None]
    spec_id: Mapped[str] = mapped_column(String(200))
    """What the sandbox was started from: the image of a container, or `process`."""
    base_image: Mapped[str | None] = mapped_column(String(MAX_IMAGE_CHARACTERS))
    """The base image that the user has chosen for the sandbox's image. None means the one in the server's
    configuration.
    """
    runtime_plugins: Mapped[list[Any] | None]
    """Which of the image's runtime plugins the sandbox offers. None means all."""
    found_plugins: Mapped[list[Any] | None]
    """Names of the runtime plugins that the agent server has found. None means that it has not been asked
    yet.
    """
    server_id: Mapped[str | None] = mapped_column(String(64))
    """For a process sandbox, if several servers share the database: the server on whose machine it runs."""
    seals_specs: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the agent server refuses conversations without a seal. True if none of its conversations is
    older than seals.
    """
    archive_id: Mapped[UUID | None]
    """If this is set, the next start unpacks the workspace from this archive: the sandbox's own archive, or a
    snapshot to begin from.
    """
    has_leftovers: Mapped[bool] = mapped_column(default=False)
    """For an archived sandbox: whether a machine or a workspace may still have to be removed."""
    error: Mapped[dict[str, Any] | None]
    """Why the sandbox is in ERROR or MISSING: `{code, cause, fix, output}`."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class ServerLease(Base):
    """The process that uses a server's id. `nonce` identifies the process; None means that the process has
    ended in an orderly way.

    `renewals` grows while the process lives. The other columns tell where the process runs. They are shown to
    people, and they let a restarted server recognize its own row.
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
    """A base image that a user has saved for sandboxes: an image by name, or files that an image is built
    from.

    `base`: the image's name; if it is built from files, the name is computed from all of them. `files`: a
    gzipped tar.
    """

    __tablename__ = "sandbox_specs"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    base: Mapped[str] = mapped_column(String(MAX_IMAGE_CHARACTERS), index=True)
    origin: Mapped[str | None] = mapped_column(Text)
    """Where the files came from, to show to people: a repository and a path in it."""
    dockerfile: Mapped[str | None] = mapped_column(Text)
    """The text of the Dockerfile, as the user has seen it."""
    build: Mapped[dict[str, Any] | None]
    """The fields `{dockerfile, arguments, target, files, bytes}` of BuildFiles."""
    files: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    ignored: Mapped[list[Any]]
    """The parts of a devcontainer.json that are not used, each with a reason."""
    runtime_plugins: Mapped[list[Any] | None]
    """The runtime plugins that its sandboxes offer. None means all plugins of the image."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class SpecChoice(Base):
    """The user's choice of the spec that new sandboxes are built on. `repository`: an Address.identity; empty
    for all other repositories.

    `spec_id`: a spec of the user. `given_name`: the name of a spec of the organisation or a team. If both are
    None, the server's own image is chosen.
    """

    __tablename__ = "sandbox_spec_choices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS), primary_key=True)
    spec_id: Mapped[UUID | None] = mapped_column(ForeignKey(SandboxSpec.id, ondelete="CASCADE"), index=True)
    given_name: Mapped[str | None] = mapped_column(String(100))


class Archive(Base):
    """A copy of a workspace, in a file of `home`. The file was complete and read back before this row was
    written.

    A snapshot holds only the project; new conversations can begin from it. A backup is used when the host of
    the sandbox is lost.
    """

    __tablename__ = "archives"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey(Sandbox.id, ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    conversation_id: Mapped[UUID | None]
    """For a snapshot: the conversation whose project it holds."""
    kind: Mapped[ArchiveKind] = mapped_column(enum_column(ArchiveKind))
    name: Mapped[str | None] = mapped_column(String(200))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    position: Mapped[int | None] = mapped_column(BigInteger)
    """For a backup: how far the log had come."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class CapacityReservation(Base):
    """Memory that is reserved for a sandbox until its machine runs (capacity_reservations.py)."""

    __tablename__ = "memory_places"

    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    sandbox_id: Mapped[UUID]
    until: Mapped[datetime]
