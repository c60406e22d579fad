"""Database tables of triggers, of the webhook deliveries that git hosts have sent, and of the conversations
that triggers have started.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.git.providers import GitProvider


class TriggerEvent(StrEnum):
    """The kinds of events at a git host to which a trigger can react."""

    LABEL = "label"
    MENTION = "mention"
    ASSIGNMENT = "assignment"
    REVIEW_COMMENT = "review_comment"
    FAILING_CHECK = "failing_check"
    PUSH = "push"


class Trigger(Base):
    """One row of the table of triggers: a webhook of one repository at a git host. The events that the git
    host sends start conversations of the trigger's owner.

    `origin`: the URL of the git host, such as `https://github.com`. `repository`: the full name of the
    repository at the host. `events`: TriggerEvent values. `label`: the label that starts the agent's work on
    an issue or pull request. `mention`: the word after the @ that addresses the agent in a comment. `branch`:
    the branch on which conversations begin and whose pushes start a conversation; None means the default
    branch. `paths`: patterns of the files whose pushes start a conversation; empty means all files.
    `max_running`: how many conversations of the repository's triggers may work at the same time.
    `previous_secret_encrypted`: the secret before the present secret; it is accepted until
    `previous_secret_until`.
    """

    __tablename__ = "triggers"
    __table_args__ = (Index(None, "user_id", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    provider: Mapped[GitProvider] = mapped_column(enum_column(GitProvider))
    origin: Mapped[str] = mapped_column(String(300))
    repository: Mapped[str] = mapped_column(String(500))
    clone_url: Mapped[str] = mapped_column(Text)
    events: Mapped[list[Any]]
    label: Mapped[str] = mapped_column(String(100), default="slipway")
    mention: Mapped[str] = mapped_column(String(100), default="slipway")
    branch: Mapped[str | None] = mapped_column(String(255))
    paths: Mapped[list[Any]] = mapped_column(default=list)
    instructions: Mapped[str] = mapped_column(Text, default="")
    llm_profile: Mapped[str | None] = mapped_column(String(64))
    sandbox_spec_id: Mapped[str | None] = mapped_column(String(100))
    opens_pull_request: Mapped[bool] = mapped_column(default=True)
    max_running: Mapped[int] = mapped_column(Integer, default=5)
    secret_encrypted: Mapped[str] = mapped_column(Text)
    previous_secret_encrypted: Mapped[str | None] = mapped_column(Text)
    previous_secret_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_delivery_at: Mapped[datetime | None]


class DeliveryResult(StrEnum):
    """The state of a webhook delivery. `waiting`: its background job has not ended. `ignored`: nothing had to
    be done.
    """

    WAITING = "waiting"
    DONE = "done"
    IGNORED = "ignored"
    FAILED = "failed"


class TriggerDelivery(Base):
    """One row of the table of webhook deliveries: a delivery of a git host that Slipway has accepted.
    `delivery_id`: the host's id of the delivery, or a hash of the body if the host gives no id. `event`,
    `actor`, `number`: kind, author and issue or pull request number of the first event in the delivery.
    `action`: what was done about the delivery. `commit`: the commit whose failing checks were sent to the
    agent.
    """

    __tablename__ = "trigger_deliveries"
    __table_args__ = (
        UniqueConstraint("trigger_id", "delivery_id"),
        Index(None, "trigger_id", "created_at"),
        Index(None, "created_at"),
        Index(None, "conversation_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    trigger_id: Mapped[UUID] = mapped_column(ForeignKey(Trigger.id, ondelete="CASCADE"))
    delivery_id: Mapped[str] = mapped_column(String(200))
    event: Mapped[str] = mapped_column(String(40))
    actor: Mapped[str] = mapped_column(Text)
    number: Mapped[int | None] = mapped_column(Integer)
    state: Mapped[DeliveryResult] = mapped_column(enum_column(DeliveryResult), default=DeliveryResult.WAITING)
    action: Mapped[str | None] = mapped_column(String(40))
    reason: Mapped[str | None] = mapped_column(Text)
    commit: Mapped[str | None] = mapped_column(String(64))
    conversation_id: Mapped[UUID | None] = mapped_column(ForeignKey("conversations.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    handled_at: Mapped[datetime | None]


class TriggeredConversation(Base):
    """One row for each conversation that a trigger has started. The row also describes the comment at the git
    host that shows the progress of the agent's work.

    `number`: the number of the issue or pull request; None for a push, which has no comment. `comment_begun`:
    Slipway has asked the host to add the comment, but may not have received the id of the comment. `comment`:
    the text of the comment at the host. `is_stopped`: the issue or pull request was closed. `is_at_rest`: the
    agent has stopped working after the issue or pull request was closed. If the agent works again, the user
    has continued the conversation.
    """

    __tablename__ = "triggered_conversations"
    __table_args__ = (Index(None, "trigger_id", "number"),)

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    trigger_id: Mapped[UUID] = mapped_column(ForeignKey(Trigger.id, ondelete="CASCADE"))
    is_pull_request: Mapped[bool]
    number: Mapped[int | None] = mapped_column(Integer)
    title: Mapped[str] = mapped_column(Text, default="")
    comment_id: Mapped[str | None] = mapped_column(String(200))
    comment_begun: Mapped[bool] = mapped_column(default=False)
    comment: Mapped[str | None] = mapped_column(Text)
    is_stopped: Mapped[bool] = mapped_column(default=False)
    is_at_rest: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
