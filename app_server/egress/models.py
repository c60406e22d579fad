"""Database tables of network settings, credentials for https hosts, and records of network requests."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.egress.policy import EgressMode
from app_server.sandbox_records.models import Sandbox

MAX_SUBJECT_CHARACTERS = 500
MAX_HOST_CHARACTERS = 255
MAX_PREFIX_CHARACTERS = 200
MAX_METHOD_CHARACTERS = 20
MAX_PATH_CHARACTERS = 300


class EgressScope(StrEnum):
    """What a network setting applies to: all sandboxes of a user, those of one repository, or a single
    sandbox.
    """

    USER = "user"
    REPOSITORY = "repository"
    SANDBOX = "sandbox"


class CredentialScope(StrEnum):
    """Which requests get a credential: those of all users, of one user, or of one user for one repository."""

    SERVER = "server"
    USER = "user"
    REPOSITORY = "repository"


class CredentialKind(StrEnum):
    """How a credential is sent to the host: `Authorization: Bearer`, `Authorization: Basic`, or in a named
    header.
    """

    BEARER = "bearer"
    BASIC = "basic"
    HEADER = "header"


class EgressSetting(Base):
    """A user's network setting for one scope. `subject`: empty, an Address.identity, or the sandbox's id,
    depending on the scope.

    mode: None means the mode of the next wider scope. hosts: additional allowed hosts. ignored: refused hosts
    that the user does not want to be notified of.
    """

    __tablename__ = "egress_settings"
    __table_args__ = (UniqueConstraint("user_id", "scope", "subject"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    scope: Mapped[EgressScope] = mapped_column(enum_column(EgressScope))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT_CHARACTERS))
    sandbox_id: Mapped[UUID | None] = mapped_column(ForeignKey(Sandbox.id, ondelete="CASCADE"), index=True)
    mode: Mapped[EgressMode | None] = mapped_column(enum_column(EgressMode))
    hosts: Mapped[list[Any]]
    ignored: Mapped[list[Any]]
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class EgressRecord(Base):
    """A host and port that a sandbox tried to reach within one hour. `reason`: why the requests were refused;
    empty if they were not.

    client: the name that the program last gave itself. Byte counts are from the sandbox's point of view.
    """

    __tablename__ = "egress_records"
    __table_args__ = (
        UniqueConstraint("sandbox_id", "hour", "host", "port", "reason"),
        Index(None, "user_id", "last_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    sandbox_id: Mapped[UUID] = mapped_column(ForeignKey(Sandbox.id, ondelete="CASCADE"))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    hour: Mapped[datetime]
    host: Mapped[str] = mapped_column(String(MAX_HOST_CHARACTERS))
    port: Mapped[int] = mapped_column(Integer)
    reason: Mapped[str] = mapped_column(String(40))
    client: Mapped[str] = mapped_column(String(60))
    count: Mapped[int] = mapped_column(BigInteger)
    bytes_sent: Mapped[int] = mapped_column(BigInteger)
    bytes_received: Mapped[int] = mapped_column(BigInteger)
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]


class EgressCredential(Base):
    """A credential that the proxy adds to requests to one https host. The value is never shown again.

    user_id: its owner; None: the server. `owner` has the same meaning as text for the unique constraint,
    where two None values would not be equal. subject: the identity of the repository, else empty.
    path_prefix: the required beginning of paths, or empty. header, username: for the kinds that need one,
    else empty.
    """

    __tablename__ = "egress_credentials"
    __table_args__ = (UniqueConstraint("owner", "scope", "subject", "host", "port", "path_prefix"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    owner: Mapped[str] = mapped_column(String(32))
    scope: Mapped[CredentialScope] = mapped_column(enum_column(CredentialScope))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT_CHARACTERS))
    host: Mapped[str] = mapped_column(String(MAX_HOST_CHARACTERS), index=True)
    port: Mapped[int] = mapped_column(Integer)
    path_prefix: Mapped[str] = mapped_column(String(MAX_PREFIX_CHARACTERS))
    kind: Mapped[CredentialKind] = mapped_column(enum_column(CredentialKind))
    header: Mapped[str] = mapped_column(String(100))
    username: Mapped[str] = mapped_column(String(200))
    value_encrypted: Mapped[str] = mapped_column(Text)
    last_used_at: Mapped[datetime | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class EgressCredentialUse(Base):
    """One request that a credential was added to, written before the request is sent.

    The row stays when the credential or the sandbox is deleted, so it has no foreign keys to them; it is
    deleted with its user. path: without its query.
    """

    __tablename__ = "egress_credential_uses"
    __table_args__ = (Index(None, "credential_id", "at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    credential_id: Mapped[UUID]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    sandbox_id: Mapped[UUID]
    host: Mapped[str] = mapped_column(String(MAX_HOST_CHARACTERS))
    port: Mapped[int] = mapped_column(Integer)
    method: Mapped[str] = mapped_column(String(MAX_METHOD_CHARACTERS))
    path: Mapped[str] = mapped_column(String(MAX_PATH_CHARACTERS))
    at: Mapped[datetime] = mapped_column(default=now)
