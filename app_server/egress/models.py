"""Database tables of the egress proxy: network settings, credentials for https hosts, and records of the
network requests of sandboxes.
"""

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
    """The range of sandboxes that a user's network setting applies to.

    USER: all sandboxes of the user. REPOSITORY: the user's sandboxes that work on one repository. SANDBOX: a
    single sandbox. The members are in order from the widest to the narrowest range.
    """

    USER = "user"
    REPOSITORY = "repository"
    SANDBOX = "sandbox"


class CredentialScope(StrEnum):
    """The range of requests that the egress proxy adds a credential to.

    SERVER: requests from the sandboxes of all users of the default organisation (whose administrators manage
    the installation). USER: requests from all sandboxes of one user. REPOSITORY: requests from the sandboxes
    of one user that work on one repository.
    """

    SERVER = "server"
    USER = "user"
    REPOSITORY = "repository"


class CredentialKind(StrEnum):
    """The form in which a credential is sent to a host.

    BEARER: in the header `Authorization: Bearer`. BASIC: in the header `Authorization: Basic`, with a user
    name. HEADER: in a header that the user names.
    """

    BEARER = "bearer"
    BASIC = "basic"
    HEADER = "header"


class EgressSetting(Base):
    """The database row of one network setting of a user: which hosts some of the user's sandboxes may call.

    scope: which sandboxes the setting applies to: all sandboxes of the user, those that work on one
    repository, or one sandbox. subject: empty for the scope USER, the identity of the repository
    (`host/owner/name` or a path) for REPOSITORY, and the id of the sandbox for SANDBOX.

    mode: whether the sandboxes may call no host, only the allowed hosts, or all public hosts. None means that
    the mode of the next wider scope applies; the next wider scope after USER is the installation. hosts:
    hosts that are allowed in addition to the allowed hosts of the wider scopes. ignored: refused hosts that
    the user does not want to be notified of.
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
    """The database row that counts the requests of one sandbox to one host and port within one hour.

    Refused requests are counted in separate rows. reason: why the requests were refused; empty if they were
    not refused. client: the name that the program in the sandbox gave in its latest request; may be empty.
    bytes_sent, bytes_received: bytes that the sandbox sent and received.
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
    """The database row of a credential that the egress proxy adds to requests to one https host. No API route
    returns the value of a credential.

    user_id: the user that owns the credential; None for a credential of the server. owner: `user_id` as text,
    or empty for a credential of the server. The column `owner` exists for the unique constraint, because a
    database does not regard two NULL values in `user_id` as equal.

    subject: the identity of the repository (`host/owner/name` or a path) for the scope REPOSITORY, else
    empty. path_prefix: the credential is added only to requests for this path and the paths below it; empty
    for all paths. header: the name of the header for the kind HEADER, else empty. username: the user name for
    the kind BASIC, else empty.
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
    """The database row of one request that the egress proxy added a credential to. The row is written before
    the request is sent.

    The row stays when the credential or the sandbox is deleted. Therefore the row has no foreign keys to the
    credential and the sandbox. The row is deleted together with the user `user_id`. path: the path of the
    request without the query.
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
