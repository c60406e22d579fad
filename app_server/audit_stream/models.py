"""The database table with the receiver of the audit log (the outside server to which all entries are sent),
and with the id of the last entry that was sent.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

STREAM_ID = 1


class StreamKind(StrEnum):
    """How entries of the audit log are sent: by signed HTTP requests (webhooks), or as syslog messages (RFC
    5424).
    """

    WEBHOOK = "webhook"
    SYSLOG_UDP = "syslog_udp"
    SYSLOG_TCP = "syslog_tcp"
    SYSLOG_TLS = "syslog_tls"


class AuditStream(Base):
    """The single row with the receiver of the audit log (the outside server to which all entries are sent).

    `address`: a URL for webhooks, otherwise `HOST:PORT`. `secret_encrypted`: the encrypted secret that signs
    webhooks; null for syslog. `sent_up_to`: the id of the last entry that the receiver has accepted.
    `sent_at`: when the receiver last accepted entries; null if it has not accepted any. `failing_since`,
    `error`: since when attempts fail, and why the last attempt failed; null if the last attempt succeeded.
    """

    __tablename__ = "audit_streams"
    __table_args__ = (CheckConstraint(f"id = {STREAM_ID}", name="single"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=STREAM_ID)
    kind: Mapped[StreamKind] = mapped_column(enum_column(StreamKind))
    address: Mapped[str] = mapped_column(String(2000))
    secret_encrypted: Mapped[str | None] = mapped_column(Text)
    sent_up_to: Mapped[int] = mapped_column(BigInteger)
    sent_at: Mapped[datetime | None]
    failing_since: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(default=now)
