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
    """The kinds of events at a git host that a trigger can use."""

    LABEL = "label"
    MENTION = "mention"
    ASSIGNMENT = "assignment"
    REVIEW_COMMENT = "review_comment"
    FAILING_CHECK = "failing_check"
    PUSH = "push"


class Trigger(Base):
    """The database row of a trigger. A trigger belongs to a user and is about one repository at a git host.
    The git host sends events of the repository to Slipway by a webhook. The events start conversations of the
    user.

    `origin`: the URL of the git host, such as `https://github.com`. `repository`: the full name of the
    repository at the git host. `events`: the TriggerEvent values that the trigger uses. `label`: the label on
    an issue or pull request that starts the agent's work. `mention`: the word after the @ that addresses the
    agent in a comment. `branch`: the branch from which conversations start, and on which pushes start a
    conversation; None means the default branch. `paths`: patterns of file paths. Only pushes that change
    files with such paths start a conversation; an empty list means all files. `max_running`: how many
    conversations of the user's triggers for this repository may be active at the same time.
    `secret_encrypted`: the secret with which the git host signs its deliveries. `previous_secret_encrypted`:
    the previous secret, which is accepted until `previous_secret_until`.
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
    """The state of a webhook delivery of a git host. `waiting`: Slipway has not finished handling it. `done`:
    Slipway has acted, for example has started a conversation. `ignored`: there was nothing to do. `failed`:
    an error has occurred.
    """

    WAITING = "waiting"
    DONE = "done"
    IGNORED = "ignored"
    FAILED = "failed"


class TriggerDelivery(Base):
    """The database row of a webhook delivery that Slipway has accepted from a git host.

    `delivery_id`: the git host's id of the delivery, or a hash of the body if the host sends no id. `event`,
    `actor`, `number`: the kind, the author and the issue or pull request number of the first event in the
    delivery. `state`: whether Slipway has handled the delivery. `action`: what Slipway has done; None if it
    has done nothing. `reason`: why Slipway has done nothing, or why the action failed. `commit`: the commit
    whose failing checks were sent to the agent; None for other actions.
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
    """The database row of a conversation that a trigger has started. The row also describes the comment at
    the git host in which Slipway shows the progress of the work.

    `number`: the number of the issue or pull request; None for a push, which has no comment. `title`: the
    title of the issue or pull request, or a text such as "Push to main". `comment`: the text of the comment
    at the git host. `comment_id`: the git host's id of the comment; None if it is not stored yet.
    `comment_begun`: whether Slipway has begun to write the comment. If it is True and `comment_id` is None,
    the comment may exist already, so Slipway searches for it before it writes another one.

    `is_stopped`: True after the issue or pull request was closed; Slipway then pauses the agent.
    `is_at_rest`: True when the agent of a stopped conversation has stopped working. If the agent works again
    after that, the user has continued the conversation. Slipway then sets both fields to False and does not
    pause the agent again.
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
