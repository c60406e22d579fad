"""What was approved in one conversation holds in the next of the same user about the same repository."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import orjson
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.database import now
from app_server.mcp_approvals.models import MAX_REPOSITORY_CHARACTERS, MAX_SERVER_CHARACTERS, McpApproval

MAX_SERVERS = 100
"""Per user and repository."""
MAX_TOOLS_BYTES = 1024 * 1024
"""Of one server's tools. A server that says more is seen anew by every conversation."""


def approved_by(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tools by server and name, if the event tells of approvals. Nothing in it is trusted."""
    match event:
        case {
            "kind": "ConversationStateUpdateEvent",
            "key": "agent_state",
            "value": {"mcp_approved": dict(approved)},
        }:
            return {server: tools for server, tools in approved.items() if isinstance(tools, dict)}
        case _:
            return None


async def approvals_of(session: AsyncSession, user_id: UUID, repository: str) -> dict[str, Any]:
    """By server and tool, as a new conversation takes them."""
    rows = await session.scalars(
        select(McpApproval).where(McpApproval.user_id == user_id, McpApproval.repository == repository)
    )
    return {row.server: orjson.loads(row.tools) for row in rows}


async def take_over(
    session: AsyncSession, user_id: UUID, repository: str, approved: Mapping[str, Any]
) -> None:
    """The last one who tells of a server wins."""
    if len(repository) > MAX_REPOSITORY_CHARACTERS:
        return
    known = await approvals_of(session, user_id, repository)
    room = MAX_SERVERS - len(known)
    for server, tools in approved.items():
        encoded = orjson.dumps(tools).decode()
        if known.get(server) == tools or not _fits(server, encoded):
            continue
        room -= server not in known
        if room >= 0:
            await _upsert(session, user_id=user_id, repository=repository, server=server, tools=encoded)


def _fits(server: str, tools: str) -> bool:
    return len(server) <= MAX_SERVER_CHARACTERS and len(tools) <= MAX_TOOLS_BYTES


async def _upsert(session: AsyncSession, **values: object) -> None:
    # Two conversations may tell of the same server at the same moment.
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(McpApproval).values(id=uuid4(), updated_at=now(), **values)
    changed = {name: row.excluded[name] for name in ("tools", "updated_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "server"], set_=changed)
    )
