"""Stores which tools of MCP servers a user has approved. An approval in one conversation also counts in the
user's next conversations about the same repository.

A sandbox reports which tools were approved. The app server accepts the report in two cases: for the tools of
an MCP server that is seen for the first time, if the user has added or allowed that server; and for changes
that the user has approved through the app server.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID, uuid4

import orjson
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import McpChangeAnswer
from agent_runtime.wire.mcp_definitions import ToolDefinition
from app_server.core.database import now
from app_server.mcp_approvals.changes import with_answers
from app_server.mcp_approvals.models import (
    MAX_REPOSITORY_CHARACTERS,
    MAX_SERVER_CHARACTERS,
    McpAnswer,
    McpApproval,
)

MAX_SERVERS = 100
"""The limit per user and repository."""
MAX_TOOLS_BYTES = 1024 * 1024
"""The limit for one server's tools. Larger lists are not stored, so every conversation sees them for the
first time.
"""


_DEFINITIONS = TypeAdapter(dict[str, ToolDefinition])


def approved_by(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the approved tools that an event reports, by server and tool name. Returns None if the event
    reports no approvals. Does not check the tool definitions.
    """
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
    """Returns the tools of MCP servers that the user has approved for this repository, by server and tool
    name. A new conversation gets them in this form.
    """
    rows = await session.scalars(
        select(McpApproval).where(McpApproval.user_id == user_id, McpApproval.repository == repository)
    )
    return {row.server: orjson.loads(row.tools) for row in rows}


async def keep_answer(
    session: AsyncSession, user_id: UUID, conversation_id: UUID, answer: McpChangeAnswer
) -> None:
    """Stores that the user has approved or refused a change to a tool, before the sandbox is told. A refusal
    deletes an earlier approval of the same change.
    """
    key = {
        "conversation_id": conversation_id,
        "server": answer.server,
        "fingerprint": answer.fingerprint,
    }
    if answer.accept:
        row = _insert(session)(McpAnswer).values(**key, user_id=user_id, created_at=now())
        await session.execute(row.on_conflict_do_nothing())
    else:
        await session.execute(delete(McpAnswer).filter_by(**key))


async def take_over(
    session: AsyncSession,
    user_id: UUID,
    repository: str,
    *,
    conversation_id: UUID,
    servers: Collection[str],
    approved: Mapping[str, Any],
) -> None:
    """Stores the approved tools that a sandbox reports, as far as the report can be accepted (see the
    module).

    `servers`: the MCP servers that the user has added, or that the user has allowed the repository to bring.
    `approved`: the reported tools by server and tool name.
    """
    if len(repository) > MAX_REPOSITORY_CHARACTERS:
        return
    known = await approvals_of(session, user_id, repository)
    answers = await _answers(session, conversation_id)
    room = MAX_SERVERS - len(known)
    for server, tools in approved.items():
        told = _definitions(tools)
        if told is None or not (server in known or (server in servers and room > 0)):
            continue
        before = _definitions(known[server]) if server in known else None
        after = told if before is None else with_answers(before, told, answers[server])
        if after == before:
            continue
        encoded = _DEFINITIONS.dump_json(after).decode()
        if _fits(server, encoded):
            room -= server not in known
            await _upsert(session, user_id=user_id, repository=repository, server=server, tools=encoded)


async def _answers(session: AsyncSession, conversation_id: UUID) -> defaultdict[str, set[str]]:
    """Returns the fingerprints of the changes that the user has approved in this conversation, by server."""
    rows = await session.execute(
        select(McpAnswer.server, McpAnswer.fingerprint).where(McpAnswer.conversation_id == conversation_id)
    )
    found: defaultdict[str, set[str]] = defaultdict(set)
    for server, fingerprint in rows:
        found[server].add(fingerprint)
    return found


def _definitions(tools: Any) -> dict[str, ToolDefinition] | None:
    """Parses tool definitions. Returns None if they are not valid, or if a tool is listed under a name that
    is not its own.
    """
    try:
        found = _DEFINITIONS.validate_python(tools)
    except ValidationError:
        return None
    return found if all(name == one.name for name, one in found.items()) else None


def _fits(server: str, tools: str) -> bool:
    return len(server) <= MAX_SERVER_CHARACTERS and len(tools) <= MAX_TOOLS_BYTES


async def _upsert(session: AsyncSession, **values: object) -> None:
    # Two conversations may tell of the same server at the same moment.
    row = _insert(session)(McpApproval).values(id=uuid4(), updated_at=now(), **values)
    changed = {name: row.excluded[name] for name in ("tools", "updated_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "server"], set_=changed)
    )


def _insert(session: AsyncSession) -> Any:
    return sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
