"""The database table of the pull requests that belong to conversations."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now
from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import Mergeability, PullRequestState


class ConversationPullRequest(Base):
    """One row of the table of pull requests: a pull request of a conversation, with the state that its git
    host reported last.

    `origin`: the host, such as `https://github.com`. `checks`, `reviews`: lists of Check and Review as JSON.
    `problem`: why the last request to the host failed; None if it succeeded.
    """

    __tablename__ = "conversation_pull_requests"
    __table_args__ = (
        UniqueConstraint("conversation_id", "origin", "repository", "number"),
        Index(None, "user_id", "origin", "repository", "state"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    provider: Mapped[GitProvider] = mapped_column(enum_column(GitProvider))
    origin: Mapped[str] = mapped_column(String(300))
    repository: Mapped[str] = mapped_column(String(500))
    number: Mapped[int] = mapped_column(Integer)
    url: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    state: Mapped[PullRequestState] = mapped_column(enum_column(PullRequestState))
    is_draft: Mapped[bool]
    head: Mapped[str] = mapped_column(Text)
    base: Mapped[str] = mapped_column(Text)
    head_commit: Mapped[str | None] = mapped_column(String(64))
    mergeability: Mapped[Mergeability] = mapped_column(enum_column(Mergeability))
    checks: Mapped[list[Any]] = mapped_column(default=list)
    reviews: Mapped[list[Any]] = mapped_column(default=list)
    unresolved_threads: Mapped[int] = mapped_column(Integer, default=0)
    asked_threads: Mapped[list[Any]] = mapped_column(default=list)
    """The ids of the review threads that the agent was asked to address and that have no reply of Slipway
    yet.
    """
    asked_at_commit: Mapped[str | None] = mapped_column(String(64))
    """The last commit of the branch when the agent was asked to address the threads in `asked_threads`; None
    if it is not known. When the branch has a newer commit, Slipway replies to these threads.
    """
    problem: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    refreshed_at: Mapped[datetime] = mapped_column(default=now)
