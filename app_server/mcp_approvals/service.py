"""Stores which tools of MCP servers a user has approved. An approval in one conversation also counts in the
user's next conversations about the same repository.

A sandbox reports which tools the user has approved, but the app server does not trust this report. If no
tools of the MCP server are stored yet, the reported tools are stored only if the user has accepted the
server. A user accepts a server by adding it in the settings, or by allowing a server that a repository
defines. If the server's tools have changed, only the changes that the user has approved through the app
server are stored.
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
"""The maximum number of MCP servers whose tools are stored for one user and repository."""
MAX_TOOLS_BYTES = 1024 * 1024
"""The maximum size of the tool definitions of one MCP server as JSON in UTF-8. Larger definitions are not
stored. Then the user's approvals for this server are not stored, and each new conversation starts without
them.
"""


_DEFINITIONS = TypeAdapter(dict[str, ToolDefinition])


def approved_by(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the approved MCP tools that an event of a conversation reports, by server name and tool name.
    Returns None if the event reports no approvals. Does not check the tool definitions.
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
    """Returns the tools of MCP servers that the user has approved for this repository: the tool definitions
    by server name and tool name. A new conversation gets the approvals in this form.
    """
    rows = await session.scalars(
        select(McpApproval).where(McpApproval.user_id == user_id, McpApproval.repository == repository)
    )
    return {row.server: orjson.loads(row.tools) for row in rows}


async def keep_answer(
    session: AsyncSession, user_id: UUID, conversation_id: UUID, answer: McpChangeAnswer
) -> None:
    """Stores the user's decision about a change to a tool of an MCP server. An approval adds a row of
    McpAnswer. A refusal deletes the row of an earlier approval of the same change.

    Must be called before the decision is sent to the sandbox, because the sandbox may report the approved
    tool at once.
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
    """Stores the approved tools that a sandbox reports, so that they also count in the user's next
    conversations about the repository.

    The first report about an MCP server is stored if `servers` contains the server. From later reports, only
    the changes that the user has approved in this conversation are stored. Invalid tool definitions, and
    definitions that exceed MAX_SERVERS or MAX_TOOLS_BYTES, are ignored. Nothing is stored if `repository` has
    more than MAX_REPOSITORY_CHARACTERS characters.

    `servers`: the names of the MCP servers that the user has accepted: the user has added them in the
    settings, or has allowed them after a repository defined them. `approved`: the reported tools by server
    name and tool name.
    """
    if len(repository) > MAX_REPOSITORY_CHARACTERS:
        return
    known = await approvals_of(session, user_id, repository)
    answers = await _answers(session, conversation_id)
    room = MAX_SERVERS - len(known)
    for server, tools in approved.items():
        reported = _definitions(tools)
        if reported is None or not (server in known or (server in servers and room > 0)):
            continue
        before = _definitions(known[server]) if server in known else None
        after = reported if before is None else with_answers(before, reported, answers[server])
        if after == before:
            continue
        encoded = _DEFINITIONS.dump_json(after)
        if _fits(server, encoded):
            room -= server not in known
            values = {"repository": repository, "server": server, "tools": encoded.decode()}
            await _upsert(session, user_id=user_id, **values)


async def _answers(session: AsyncSession, conversation_id: UUID) -> defaultdict[str, set[str]]:
    """Returns the tool changes that the user has approved in this conversation, by the name of the MCP
    server. Each change is given by its fingerprint (a hash that identifies the change).
    """
    rows = await session.execute(
        select(McpAnswer.server, McpAnswer.fingerprint).where(McpAnswer.conversation_id == conversation_id)
    )
    found: defaultdict[str, set[str]] = defaultdict(set)
    for server, fingerprint in rows:
        found[server].add(fingerprint)
    return found


def _definitions(tools: Any) -> dict[str, ToolDefinition] | None:
    """Returns the tool definitions in `tools`, a JSON object with one definition for each tool name. Returns
    None if a definition is not valid, or if the name in a definition differs from its key in the object.
    """
    try:
        found = _DEFINITIONS.validate_python(tools)
    except ValidationError:
        return None
    return found if all(name == one.name for name, one in found.items()) else None


def _fits(server: str, tools: bytes) -> bool:
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
