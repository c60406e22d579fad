"""The database tables for sandboxes, sandbox specs (base images and plugins), archives, memory reservations
and leases. A lease says which process uses the id of an app server.
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
    """The database row of a sandbox: an isolated machine that runs one agent server. The sandbox's id is the
    id of the conversation for which the sandbox was created.

    `status`: the state in which the sandbox should be. For example, RUNNING means that the app server starts
    the sandbox again after a restart, or when its agent server has died. ARCHIVED means that only an archive
    file is left, without a container, process or workspace. `session_key_hash`: the SHA-256 of the session
    key, the secret with which the sandbox authenticates. By this hash, the app server finds the sandbox that
    has sent a request. `encrypted_session_key`: the encrypted session key, which the app server sends with
    its requests to the agent server.
    """

    __tablename__ = "sandboxes"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    status: Mapped[SandboxStatus] = mapped_column(String(20), index=True)
    session_key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    encrypted_session_key: Mapped[str] = mapped_column(Text)
    session_key_expires_at: Mapped[datetime | None]
    """When the session key (for calls between sandbox and app server) expires. None if no agent server has
    accepted the key yet; then the key does not expire.
    """
    pending_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    encrypted_pending_session_key: Mapped[str | None] = mapped_column(Text)
    """The new session key (for calls between sandbox and app server) that the app server sends to the agent
    server at present. It is not known yet whether the agent server has accepted the key. None if no new key
    is being sent.
    """
    pending_session_key_expires_at: Mapped[datetime | None]
    previous_session_key_hash: Mapped[str | None] = mapped_column(String(64), index=True)
    previous_session_key_expires_at: Mapped[datetime | None]
    spec_id: Mapped[str] = mapped_column(String(200))
    """What the sandbox was started from: the image of a container (with the prefix `remote:` if the container
    is on another host), or `process` for a process.
    """
    base_image: Mapped[str | None] = mapped_column(String(MAX_IMAGE_CHARACTERS))
    """The base image that the user has chosen for the sandbox's image. None means the default base image of
    the server's configuration.
    """
    runtime_plugins: Mapped[list[Any] | None]
    """The names of those runtime plugins (programs in the image, such as VS Code) that the sandbox provides.
    None means that it provides all runtime plugins of the image.
    """
    found_plugins: Mapped[list[Any] | None]
    """The names of the runtime plugins (programs such as VS Code) that the agent server has found in the
    sandbox. None means that the app server has not asked the agent server yet.
    """
    server_id: Mapped[str | None] = mapped_column(String(64))
    """For a process sandbox (not a container, but a process on the machine of an app server): the id of this
    app server. None for all other sandboxes, and also None if only one app server uses the database.
    """
    seals_specs: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the agent server refuses conversations whose stored specification (settings) is not signed.
    True if all conversations of the sandbox were created after Slipway began to sign specifications.
    """
    archive_id: Mapped[UUID | None]
    """The archive from which the next start of the sandbox restores its workspace: the archive that has
    replaced the sandbox's workspace, the last backup of the workspace, or a snapshot from which the new
    sandbox begins. None if nothing must be restored.
    """
    has_leftovers: Mapped[bool] = mapped_column(default=False)
    """For an archived sandbox: whether its container, process or workspace may still have to be removed."""
    error: Mapped[dict[str, Any] | None]
    """Why the sandbox has the status ERROR or MISSING: `{code, cause, fix, output}`. None for every other
    status.
    """
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class ServerLease(Base):
    """The database row that says which process uses a server id, the id of one app server.

    `nonce`: a random text that identifies the process; None means that the process has released the id.
    `renewals`: a number that the process increases regularly while it runs, so that other processes know that
    it still runs. The columns from `boot_id` to `host` say where the process runs. A restarted app server
    recognises its own row by all of them except `host`. Error messages show `home` and `host` to users.
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
    """The database row of a base image that a user has saved for sandboxes: the name of an image, or the
    files from which an image is built.

    `base`: the name of the image; if the image is built from files, the name contains a hash of all files.
    `files`: the gzipped tar of the files; None if the image is not built from files.
    """

    __tablename__ = "sandbox_specs"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    base: Mapped[str] = mapped_column(String(MAX_IMAGE_CHARACTERS), index=True)
    origin: Mapped[str | None] = mapped_column(Text)
    """The repository, and the path in it, from which the files come. This text is shown to users. None if the
    files do not come from a repository.
    """
    dockerfile: Mapped[str | None] = mapped_column(Text)
    """The text of the Dockerfile that was shown to the user. None if the image is not built from a
    Dockerfile.
    """
    build: Mapped[dict[str, Any] | None]
    """The fields `{dockerfile, arguments, target, files, bytes}` of BuildFiles. None if the image is not
    built from files.
    """
    files: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    ignored: Mapped[list[Any]]
    """The parts of a devcontainer.json that Slipway does not use, each with a reason."""
    runtime_plugins: Mapped[list[Any] | None]
    """The runtime plugins (programs such as VS Code) that sandboxes with this spec provide. None means all
    plugins of the image.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)


class SpecChoice(Base):
    """The database row of a user's choice: the sandbox spec that new sandboxes for a repository start from. A
    sandbox spec says which base image sandboxes start from.

    `repository`: the host and path of the repository, such as github.com/owner/name; an empty text for all
    repositories without a separate choice. `spec_id`: a spec of the user. `given_name`: the name of a spec of
    the organisation or a team. If `spec_id` and `given_name` are None, the default image of the server is
    chosen.
    """

    __tablename__ = "sandbox_spec_choices"

    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS), primary_key=True)
    spec_id: Mapped[UUID | None] = mapped_column(ForeignKey(SandboxSpec.id, ondelete="CASCADE"), index=True)
    given_name: Mapped[str | None] = mapped_column(String(100))


class Archive(Base):
    """The database row of an archive file: a copy of a workspace in the app server's home directory. The file
    was completely written and verified before the row was written.

    `kind`: ARCHIVE is the only copy of a workspace that was archived. SNAPSHOT contains only the project; new
    conversations can begin from it. BACKUP is an additional copy of a workspace; it is used if the sandbox
    host (another machine, on which the sandbox runs) cannot be reached.
    """

    __tablename__ = "archives"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey(Sandbox.id, ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    conversation_id: Mapped[UUID | None]
    """For a snapshot: the conversation whose project files the snapshot contains. None for archives of other
    kinds.
    """
    kind: Mapped[ArchiveKind] = mapped_column(enum_column(ArchiveKind))
    name: Mapped[str | None] = mapped_column(String(200))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    position: Mapped[int | None] = mapped_column(BigInteger)
    """For a backup: the position of the last event in the event logs of the sandbox's conversations when the
    backup was made. None for archives of other kinds.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)


class CapacityReservation(Base):
    """The database row of a reservation of memory for a sandbox that is starting. So two app servers do not
    use the same free memory for two sandboxes.

    `number`: the number of the reservation, one more than that of the reservation before it; see
    capacity_reservations.py for the reason. `until`: the time at which the reservation expires if the app
    server does not renew it.
    """

    __tablename__ = "memory_places"

    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    sandbox_id: Mapped[UUID]
    until: Mapped[datetime]
