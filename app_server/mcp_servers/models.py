"""Database tables of the MCP servers that users have added, and of the tokens of users' sign-ins to them."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_NAME_CHARACTERS = 64


class McpServer(Base):
    """The database row of an MCP server that a user has added. `definition_encrypted`: the server's settings
    (the model Definition, such as the URL and headers) as encrypted JSON. The URL is encrypted too, because
    it may contain a secret.
    """

    __tablename__ = "mcp_servers"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(MAX_NAME_CHARACTERS))
    is_enabled: Mapped[bool]
    definition_encrypted: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)


class McpGrant(Base):
    """The database row of the tokens of a user's sign-in to an MCP server. `grant_encrypted`: the encrypted
    OAuthGrant as JSON. `is_refused`: whether the tokens cannot be renewed any more.

    `claimed_until`: the end of the time in which only one app server may renew the tokens. Other app servers
    must wait until then. None if no app server renews the tokens.
    """

    __tablename__ = "mcp_grants"

    server_id: Mapped[UUID] = mapped_column(ForeignKey(McpServer.id, ondelete="CASCADE"), primary_key=True)
    grant_encrypted: Mapped[str] = mapped_column(Text)
    is_refused: Mapped[bool]
    claimed_until: Mapped[datetime | None]
