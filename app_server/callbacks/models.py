"""Database tables of callbacks and deliveries. A callback is an action that runs for matching events of
conversations. A delivery is one run of a callback for one event.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MAX_NAME_CHARACTERS = 100


class Processor(StrEnum):
    WEBHOOK = "webhook"
    LOG = "log"
    CHAT = "chat"
    MAIL = "mail"
    COMMENT = "comment"
    TASK = "task"


class Callback(Base):
    """The database row of a callback: an action that runs for events of a user's conversations. `processor`:
    the kind of the callback.

    `conversation_id`: the only conversation for whose events the callback runs; null means all conversations
    of the user. `is_for_everyone`: whether the callback runs for the conversations of all users of the
    organisation; only administrators can have such a callback.

    `kinds`, `sources`, `tools`, `statuses`: four filters, each a list of allowed values. The callback runs
    for an event only if all four filters allow the event; an empty list allows every event.

    `secret_encrypted`: the encrypted secret that signs the messages of a webhook; null for other kinds.
    `previous_secret_encrypted`: a second secret that also signs messages until `previous_secret_until`.
    """

    __tablename__ = "callbacks"
    __table_args__ = (
        Index(None, "user_id", "created_at"),
        Index(None, "is_for_everyone"),
        Index(None, "conversation_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    is_for_everyone: Mapped[bool] = mapped_column(default=False)
    name: Mapped[str] = mapped_column(String(MAX_NAME_CHARACTERS))
    processor: Mapped[Processor] = mapped_column(enum_column(Processor))
    url_encrypted: Mapped[str | None] = mapped_column(Text)
    """The encrypted address of the receiver: a URL, or `mailto:` and an e-mail address for a callback of the
    kind `mail`.
    """
    instructions: Mapped[str | None] = mapped_column(Text)
    """The user's instructions for the agent that a callback of the kind `task` starts; null for other
    kinds.
    """
    secret_encrypted: Mapped[str | None] = mapped_column(Text)
    previous_secret_encrypted: Mapped[str | None] = mapped_column(Text)
    previous_secret_until: Mapped[datetime | None]
    kinds: Mapped[list[Any]]
    sources: Mapped[list[Any]]
    tools: Mapped[list[Any]]
    statuses: Mapped[list[Any]]
    is_enabled: Mapped[bool] = mapped_column(default=True)
    disabled_reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Delivery(Base):
    """The database row of a delivery, that is, of one run of a callback for one event. `seq`: the position of
    the event in the conversation's log. `job_id`: the id of the background job that delivers the event.
    `attempts`: how many attempts were made so far. `status_code`, `error`, `duration_ms`: the result of the
    last attempt.
    """

    __tablename__ = "callback_deliveries"
    __table_args__ = (
        UniqueConstraint("callback_id", "conversation_id", "seq"),
        Index(None, "callback_id", "created_at"),
        Index(None, "created_at"),
        Index(None, "conversation_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    callback_id: Mapped[UUID] = mapped_column(ForeignKey(Callback.id, ondelete="CASCADE"))
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    seq: Mapped[int] = mapped_column(BigInteger)
    event_kind: Mapped[str] = mapped_column(String(100))
    job_id: Mapped[UUID]
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    status_code: Mapped[int | None] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(Text)
    duration_ms: Mapped[int | None] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(default=now)
    delivered_at: Mapped[datetime | None]
