"""Database tables of the tools of MCP servers that users have approved."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500
MAX_SERVER_CHARACTERS = 200


class McpAnswer(Base):
    """A user's approval of one change to a tool of an MCP server. The app server has passed the approval on
    to the sandbox.

    `fingerprint`: the fingerprint of the change (see agent_runtime.wire.mcp_definitions).
    """

    __tablename__ = "mcp_answers"

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    server: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class McpApproval(Base):
    """The tools of one MCP server that a user has approved for conversations about one repository.

    `repository` is an Address.identity, or empty for conversations without a repository. `tools` is JSON: the
    tool definitions by name.
    """

    __tablename__ = "mcp_approvals"
    __table_args__ = (UniqueConstraint("user_id", "repository", "server"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS))
    server: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS))
    tools: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(default=now)
