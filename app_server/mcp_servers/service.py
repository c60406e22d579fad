"""Stores and reads the MCP servers that users have added. Every query is limited to the rows of one user."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict, NotFound, invalid_body
from app_server.levels.items import require_not_enforced
from app_server.levels.models import LevelItemKind
from app_server.mcp_servers.grants import OAuthGrant, SignedInTo, save_grant
from app_server.mcp_servers.known_variables import with_known_hosts
from app_server.mcp_servers.models import McpGrant, McpServer
from app_server.mcp_servers.schemas import MASK, Definition, McpServerInfo, SaveMcpServer, SignInState

MAX_SERVERS = 50
NOTHING = Definition(command="none")
"""A definition without headers and variables. It is used where a function needs the definition of a server
before a change, but the server is new.
"""


class Defined(Protocol):
    """An object that has the encrypted definition of an MCP server, for example a row of McpServer."""

    @property
    def definition_encrypted(self) -> str: ...


async def list_servers(session: AsyncSession, user_id: UUID) -> Sequence[McpServer]:
    """Returns all MCP servers that the user has added, sorted by name."""
    query = select(McpServer).where(McpServer.user_id == user_id).order_by(McpServer.name)
    return (await session.scalars(query)).all()


async def get_server(session: AsyncSession, user_id: UUID, name: str) -> McpServer:
    """Returns the MCP server with this name that the user has added. Raises NotFound `mcp_server_not_found`
    if there is none.
    """
    server: McpServer | None = await session.scalar(
        select(McpServer).where(McpServer.user_id == user_id, McpServer.name == name)
    )
    if server is None:
        raise server_not_found(name)
    return server


def server_not_found(name: str) -> NotFound:
    return NotFound(
        f"There is no MCP server {name!r}.",
        code="mcp_server_not_found",
        fix="Look at the MCP servers in the settings.",
    )


async def add_server(
    session: AsyncSession, cipher: Cipher, user_id: UUID, name: str, given: SaveMcpServer
) -> McpServer:
    """Adds an MCP server of the user and returns it.

    Raises Conflict `mcp_server_exists` if the user has a server with this name. Raises Conflict
    `too_many_mcp_servers` if the user already has MAX_SERVERS servers. Raises BadRequest `mcp_headers_needed`
    (for a header) or `mcp_variables_needed` (for a variable) if a value is MASK (asterisks), because a new
    server has no stored values. Raises Forbidden `setting_enforced` if the organisation or a team has a
    server with this name that users cannot override.
    """
    await require_not_enforced(session, user_id, LevelItemKind.MCP_SERVER, name)
    if len(await list_servers(session, user_id)) >= MAX_SERVERS:
        raise Conflict(f"There can be at most {MAX_SERVERS} MCP servers.", code="too_many_mcp_servers")
    server = McpServer(user_id=user_id, name=name)
    _put(server, cipher, given, before=NOTHING)
    session.add(server)
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(f"There is an MCP server {name!r} already.", code="mcp_server_exists") from error
    return server


async def change_server(
    session: AsyncSession, cipher: Cipher, user_id: UUID, name: str, changes: Mapping[str, Any]
) -> McpServer:
    """Changes fields of an MCP server of the user and returns the server. Fields that are missing in
    `changes` are not changed. If the address or the kind of sign-in changes, the tokens of the user's sign-in
    are deleted.

    A header or variable whose value is MASK (asterisks) keeps its stored value. The error code for headers is
    `mcp_headers_needed`, and for variables `mcp_variables_needed`. Raises BadRequest with this code if there
    is no stored value. Raises Conflict with this code if a stored header would be sent to a new address. Does
    the same if the stored value of a variable may be sent to more hosts, or would be given to the sandbox.

    Raises NotFound `mcp_server_not_found` if the user has no server with this name. Raises
    RequestValidationError if the changed server is not valid. Raises Forbidden `setting_enforced` if the
    organisation or a team has a server with this name that users cannot override.
    """
    server = await get_server(session, user_id, name)
    await require_not_enforced(session, user_id, LevelItemKind.MCP_SERVER, name)
    before = definition_of(cipher, server)
    given = _merged(server, before, changes)
    if (given.url, given.auth) != (before.url, before.auth):
        # A token is valid only for the server that it was granted for.
        await disconnect(session, server)
    require_same_destinations(given, before)
    _put(server, cipher, given, before=before)
    await session.flush()
    return server


async def delete_server(session: AsyncSession, user_id: UUID, name: str) -> None:
    await session.delete(await get_server(session, user_id, name))


async def connect(session: AsyncSession, cipher: Cipher, user_id: UUID, signed_in: SignedInTo) -> str:
    """Stores the OAuth tokens that a finished sign-in has returned, and returns the name of the MCP server.
    `signed_in`: the tokens, with the id and the address of the server.

    Raises NotFound `mcp_server_not_found` if, after the sign-in began, the server was deleted, got another
    address, or was changed so that it needs no sign-in.
    """
    server = await session.get(McpServer, signed_in.server_id)
    definition = definition_of(cipher, server) if server and server.user_id == user_id else None
    if server is None or definition is None or definition.url != signed_in.url or definition.auth is None:
        raise NotFound("The MCP server was changed or deleted meanwhile.", code="mcp_server_not_found")
    await save_grant(session, cipher, server.id, signed_in.grant)
    return server.name


async def disconnect(session: AsyncSession, server: McpServer) -> None:
    """Deletes the OAuth tokens of the user's sign-in to the MCP server."""
    await session.execute(delete(McpGrant).where(McpGrant.server_id == server.id))


def definition_of(cipher: Cipher, server: Defined) -> Definition:
    """Returns the decrypted definition of an MCP server, including the values of its headers and
    variables.
    """
    return Definition.model_validate_json(cipher.decrypt(server.definition_encrypted))


async def infos_of(
    session: AsyncSession, cipher: Cipher, servers: Sequence[McpServer]
) -> dict[str, McpServerInfo]:
    """Returns the descriptions that clients get of MCP servers, by server name. The descriptions contain the
    state of the sign-in, and asterisks in place of the values of headers and variables.
    """
    ids = [server.id for server in servers]
    grants = await session.scalars(select(McpGrant).where(McpGrant.server_id.in_(ids)))
    known = {grant.server_id: grant for grant in grants}
    return {server.name: _info(cipher, server, known.get(server.id)) for server in servers}


async def info_of(session: AsyncSession, cipher: Cipher, server: McpServer) -> McpServerInfo:
    return (await infos_of(session, cipher, [server]))[server.name]


async def wanted_scope(session: AsyncSession, cipher: Cipher, server: McpServer) -> str | None:
    """Returns the OAuth scope that the next sign-in to the MCP server must ask for, because the server has
    refused a call for lack of a permission. Returns None if no call was refused, or if no scope is known.
    Then the sign-in asks for the scope that the server names during the sign-in.
    """
    row = await session.get(McpGrant, server.id)
    return _wanted(cipher, row) or None


def _wanted(cipher: Cipher, row: McpGrant | None) -> str | None:
    return OAuthGrant.model_validate_json(cipher.decrypt(row.grant_encrypted)).wanted_scope if row else None


def _state(row: McpGrant | None, wanted: str | None) -> SignInState:
    if row is None:
        return "none"
    if row.is_refused:
        return "expired"
    return "connected" if wanted is None else "more_wanted"


def _info(cipher: Cipher, server: McpServer, row: McpGrant | None) -> McpServerInfo:
    wanted = _wanted(cipher, row)
    info = masked_info(definition_of(cipher, server), is_enabled=server.is_enabled)
    if info.auth is None:
        return info
    return info.model_copy(update={"sign_in": _state(row, wanted), "wanted_scope": wanted})


def masked_info(definition: Definition, *, is_enabled: bool) -> McpServerInfo:
    """Returns the description that clients get of an MCP server, without the state of its sign-in. Asterisks
    replace the values of headers and variables.
    """
    shown = definition.model_dump(exclude={"transport", "headers", "env", "env_hosts"})
    return McpServerInfo(
        **shown,
        **_masked(definition),
        env_hosts={name: definition.env_hosts.get(name, []) for name in definition.env},
        transport=definition.kind,
        sign_in=None,
        enabled=is_enabled,
    )


def _merged(server: McpServer, before: Definition, changes: Mapping[str, Any]) -> SaveMcpServer:
    stands = {
        **before.model_dump(exclude={"transport"}),
        **_masked(before),
        "enabled": server.is_enabled,
    }
    if "env" in changes and "env_hosts" not in changes:
        # Variables that are gone take their hosts with them.
        left = changes["env"] if isinstance(changes["env"], Mapping) else {}
        stands["env_hosts"] = {name: hosts for name, hosts in before.env_hosts.items() if name in left}
    try:
        return SaveMcpServer.model_validate({**stands, **changes})
    except ValidationError as error:
        raise invalid_body(error) from error


def _masked(definition: Definition) -> dict[str, dict[str, str]]:
    """Returns the fields `headers` and `env` of the definition, with asterisks in place of all values."""
    return {
        "headers": dict.fromkeys(definition.headers, MASK),
        "env": dict.fromkeys(definition.env, MASK),
    }


def _put(server: McpServer, cipher: Cipher, given: SaveMcpServer, *, before: Definition) -> None:
    server.is_enabled = given.enabled
    server.definition_encrypted = cipher.encrypt(
        whole_definition(given.definition(), before=before).model_dump_json()
    )


def whole_definition(definition: Definition, *, before: Definition) -> Definition:
    """Completes the definition of an MCP server that a user has sent. Replaces each value that is MASK
    (asterisks) by the stored value in `before`, the definition of the server before the change. Adds the
    hosts of well-known variables.

    Raises BadRequest `mcp_headers_needed` (for a header) or `mcp_variables_needed` (for a variable) if
    `before` has no value in place of a MASK. Raises RequestValidationError if the result is not valid.
    """
    headers = {name: _header(name, value, before.headers) for name, value in definition.headers.items()}
    env = {name: _variable(name, value, before.env) for name, value in definition.env.items()}
    try:
        filled = Definition.model_validate({**definition.model_dump(), "headers": headers, "env": env})
    except ValidationError as error:
        raise invalid_body(error) from error
    return with_known_hosts(filled)


def require_same_destinations(given: SaveMcpServer, before: Definition) -> None:
    """Checks that a change of an MCP server sends no stored value to a new destination. `given`: the changed
    server. `before`: the server's definition before the change.

    Raises Conflict `mcp_headers_needed` if the address changes but a header keeps its stored value. Raises
    Conflict `mcp_variables_needed` if a variable keeps its stored value and gets more hosts, or loses all
    hosts, so that the sandbox would get the value. Does not check a variable without hosts, because the
    sandbox has its value already.
    """
    if given.url != before.url and MASK in given.headers.values():
        raise Conflict(
            "The stored headers were given for another address and are not sent to a new one.",
            code="mcp_headers_needed",
            fix="Enter their values again.",
        )
    for name, value in given.env.items():
        stored_hosts, wanted = before.env_hosts.get(name), given.env_hosts.get(name, [])
        if value == MASK and stored_hosts and (not wanted or set(wanted) - set(stored_hosts)):
            raise Conflict(
                f"The stored value of {name} was given for other hosts and is not sent to new ones.",
                code="mcp_variables_needed",
                fix="Enter its value again.",
            )


def _header(name: str, value: str, stored: Mapping[str, str]) -> str:
    if value != MASK:
        return value
    if name not in stored:
        raise BadRequest(
            f"The header {name} has no stored value to keep.",
            code="mcp_headers_needed",
            fix="Enter its value.",
        )
    return stored[name]


def _variable(name: str, value: str, stored: Mapping[str, str]) -> str:
    if value != MASK:
        return value
    if name not in stored:
        raise BadRequest(
            f"The variable {name} has no stored value to keep.",
            code="mcp_variables_needed",
            fix="Enter its value.",
        )
    return stored[name]
