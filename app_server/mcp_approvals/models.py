"""The database tables of users' approvals: one table for MCP tools, one for changes to MCP tools."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500
MAX_SERVER_CHARACTERS = 200


class McpAnswer(Base):
    """The database row of a user's approval of one change to a tool of an MCP server. The app server stores
    the row before it sends the approval to the sandbox of the conversation.

    `server`: the name of the MCP server. `fingerprint`: identifies the change (see
    agent_runtime.wire.mcp_definitions).
    """

    __tablename__ = "mcp_answers"

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    server: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class McpApproval(Base):
    """The database row of a user's approval of the tools of one MCP server. The approval counts for the
    user's conversations about one repository.

    `repository`: the host and path of the repository, such as github.com/owner/name; empty for conversations
    without a repository. `server`: the name of the MCP server. `tools`: the tool definitions by tool name, as
    JSON.
    """

    __tablename__ = "mcp_approvals"
    __table_args__ = (UniqueConstraint("user_id", "repository", "server"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS))
    server: Mapped[str] = mapped_column(String(MAX_SERVER_CHARACTERS))
    tools: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(default=now)
