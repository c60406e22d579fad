"""Finds the MCP servers that a user's agents can use: the servers that the user has added, and those of the
user's teams and organisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest
from app_server.levels import items
from app_server.levels.items import LevelItem
from app_server.levels.models import LevelItemKind
from app_server.levels.service import LevelOwner
from app_server.mcp_servers.schemas import Definition, McpServerInfo, SaveMcpServerOfLevel
from app_server.mcp_servers.service import (
    NOTHING,
    definition_of,
    list_servers,
    masked_info,
    require_same_destinations,
    server_not_found,
    whole_definition,
)


@dataclass(frozen=True)
class ServerInEffect:
    """An MCP server that a user's agents can use. It belongs to the user, to a team or to the organisation.

    `is_given`: whether the server belongs to the organisation or a team. Then an administrator has set its
    address. `definition_encrypted`: the server's definition (address, headers and so on) as encrypted JSON.
    """

    id: UUID
    name: str
    is_enabled: bool
    is_given: bool
    definition_encrypted: str = field(repr=False)


async def servers_for(session: AsyncSession, user_id: UUID) -> Sequence[ServerInEffect]:
    """Returns the MCP servers of the user, of the user's teams and of the organisation, sorted by name. Some
    of the servers may be switched off.

    If several servers have the same name, returns only one of them. A server that the organisation or a team
    enforces comes first, because users cannot override it. The user's own server comes next, and then the
    other servers of teams and of the organisation.
    """
    own = {
        row.name: ServerInEffect(
            row.id, row.name, row.is_enabled, is_given=False, definition_encrypted=row.definition_encrypted
        )
        for row in await list_servers(session, user_id)
    }
    return [*(await items.in_effect(session, user_id, LevelItemKind.MCP_SERVER, own, _given)).values()]


async def server_for(session: AsyncSession, user_id: UUID, name: str) -> ServerInEffect:
    """Returns the MCP server with this name that the user's agents can use: a server of the user, of a team
    or of the organisation. The server may be switched off. Raises NotFound `mcp_server_not_found` if there is
    no server with this name.
    """
    for server in await servers_for(session, user_id):
        if server.name == name:
            return server
    raise server_not_found(name)


async def save_for_level(
    session: AsyncSession,
    cipher: Cipher,
    owner: LevelOwner,
    name: str,
    body: SaveMcpServerOfLevel,
    set_by: UUID,
) -> tuple[LevelItem, bool]:
    """Adds or replaces an MCP server of the organisation or a team. Returns the stored server, and whether it
    is new. `owner`: the organisation or team. `set_by`: the id of the user who saves the server.

    A header or variable whose value is MASK (asterisks) keeps its stored value. The error code for headers is
    `mcp_headers_needed`, and for variables `mcp_variables_needed`. Raises BadRequest with this code if there
    is no stored value. Raises Conflict with this code if a stored header would be sent to a new address. Does
    the same if the stored value of a variable may be sent to more hosts, or would be given to the sandbox.

    Raises BadRequest `mcp_sign_in_is_personal` if the server needs an OAuth sign-in. Raises Conflict
    `too_many_items` if the organisation or team already has the maximum number of MCP servers.
    """
    if body.auth is not None:
        raise BadRequest(
            "A sign-in belongs to one person, so a server of the organisation or a team cannot have one.",
            code="mcp_sign_in_is_personal",
            fix="Give the server a token in its headers, or let each person add it.",
        )
    found = await items.find_item(session, owner, LevelItemKind.MCP_SERVER, name)
    before = NOTHING if found is None else given_definition(cipher, found)
    if found is not None:
        require_same_destinations(body, before)
    definition = whole_definition(body.definition(), before=before)
    definition_encrypted = cipher.encrypt(definition.model_dump_json())
    value = {"description": body.description, "is_enabled": body.enabled}
    saved = await items.save_item(
        session,
        owner,
        LevelItemKind.MCP_SERVER,
        name,
        value,
        encrypted=definition_encrypted,
        enforced=body.enforced,
        set_by=set_by,
    )
    return saved, found is None


def given_definition(cipher: Cipher, item: LevelItem) -> Definition:
    """Returns the decrypted definition of an MCP server of the organisation or a team."""
    return definition_of(cipher, _given(item))


def given_info(cipher: Cipher, item: LevelItem) -> McpServerInfo:
    """Returns the description that administrators get of an MCP server of the organisation or a team.
    Asterisks replace the values of headers and variables.
    """
    return masked_info(given_definition(cipher, item), is_enabled=item.level_value.value["is_enabled"])


def _given(item: LevelItem) -> ServerInEffect:
    return ServerInEffect(
        item.id,
        item.name,
        item.level_value.value["is_enabled"],
        is_given=True,
        definition_encrypted=item.encrypted_part,
    )
