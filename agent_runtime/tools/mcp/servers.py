"""The MCP servers of one conversation, and the tools that these servers list now."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from agent_runtime.secrets.sources import CredentialFor, no_credential
from agent_runtime.tools.mcp.approvals import Approvals, ToolChange
from agent_runtime.tools.mcp.config import McpServer, servers_of
from agent_runtime.tools.mcp.connection import McpConnection, McpUnavailableError
from agent_runtime.tools.mcp.questions import AskUser
from agent_runtime.tools.mcp.tool import McpTool, name_for_model
from agent_runtime.wire.mcp_definitions import ToolDefinition

if TYPE_CHECKING:
    from mcp.types import Tool as RemoteTool


class McpServers:
    """The MCP servers of one conversation. The servers start at the first `refresh`.

    A server that cannot be reached does not affect the other servers. The attribute `report` contains the
    name of such a server, and the next `refresh` tries to reach this server again.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        working_dir: Path,
        approvals: Approvals | None = None,
        *,
        credential_for: CredentialFor = no_credential,
        ask_user: AskUser | None = None,
    ) -> None:
        """Reads the configuration of the servers. Does not start a server. Raises pydantic.ValidationError if
        the configuration is not valid.

        `approvals`: which tools of the servers the user has approved. When the list of tools of a server has
        changed, the differences are stored in this object. `ask_user`: asks the user a question that a server
        has during a tool call; None if no user can reply. `credential_for`: returns the key for a server's
        URL if the configuration has no credential.
        """
        self._working_dir = working_dir
        self._credential_for = credential_for
        self._ask_user = ask_user
        self._connections: list[McpConnection] = []
        self._outdated: list[McpConnection] = []
        self.tools: dict[str, McpTool] = {}
        self.report: dict[str, JsonValue] = {}
        self.approvals = approvals or Approvals()
        self._asks = False
        self._is_stale = False
        self.add(config)

    def add(self, config: Mapping[str, Any]) -> None:
        """Adds the servers in `config` whose names are new. Raises pydantic.ValidationError if `config` is
        not valid.
        """
        known = {connection.name for connection in self._connections}
        self._connections += [
            self._connection(name, server) for name, server in servers_of(config).items() if name not in known
        ]
        self.expect_changes()

    def replace(self, config: Mapping[str, Any]) -> None:
        """Replaces each server whose configuration in `config` differs from its current configuration.
        Servers that are missing in `config` are not changed, and new servers in `config` are not added.
        Running tool calls of a replaced server may be ended.
        """
        servers = servers_of(config)
        for position, connection in enumerate(self._connections):
            server = servers.get(connection.name)
            if server is not None and server != connection.server:
                self._outdated.append(connection)
                self._connections[position] = self._connection(connection.name, server)
                self.expect_changes()

    @property
    def is_stale(self) -> bool:
        """Whether the servers' tools may have changed since the last call of `refresh`."""
        return self._is_stale

    @property
    def have_lost_secrets(self) -> bool:
        return any(connection.server.has_lost_secrets for connection in self._connections)

    def expect_changes(self) -> None:
        """Makes the next call of `refresh` ask all servers for their tools again. This is needed because not
        every server reports changes of its tools, and because a server that could not be reached may be
        reachable again.
        """
        self._is_stale = bool(self._connections)

    async def refresh(self, taken: Collection[str], *, asks: bool = False) -> None:
        """Asks all servers at the same time for their tools. `taken`: the names of the agent's tools that are
        not MCP tools. An MCP tool with such a name gets a different name.

        `asks`: whether the user must also approve new tools.
        """
        self._is_stale, self._asks = False, asks
        await self._close_outdated()
        answers = await asyncio.gather(*(self._ask(connection) for connection in self._connections))
        self.tools, self.report = {}, {}
        for connection, answer in zip(self._connections, answers, strict=True):
            if isinstance(answer, McpUnavailableError):
                self.report[connection.name] = {"tools": [], "error": str(answer)}
                continue
            self._look(connection, answer)
            approved = self.approvals.approved[connection.name].values()
            names = [self._add(definition, connection, taken) for definition in approved]
            self.report[connection.name] = {
                "tools": [*names],
                "protocol_version": connection.protocol_version,
            }

    async def close(self) -> None:
        await self._close_outdated()
        await asyncio.gather(*(connection.close() for connection in self._connections))

    async def _close_outdated(self) -> None:
        outdated, self._outdated = self._outdated, []
        await asyncio.gather(*(connection.close() for connection in outdated))

    def _connection(self, name: str, server: McpServer) -> McpConnection:
        return McpConnection(
            name,
            server,
            self._working_dir,
            on_change=self.expect_changes,
            credential_for=self._credential_for,
            ask_user=self._ask_user,
        )

    def _add(self, approved: ToolDefinition, connection: McpConnection, taken: Collection[str]) -> str:
        name = name_for_model(approved.name, connection.name, {*taken, *self.tools})
        check = partial(self._check, connection, approved.name)
        self.tools[name] = McpTool(approved, connection, name, check)
        return name

    def _look(self, connection: McpConnection, offered: "list[RemoteTool]") -> bool:
        return self.approvals.look(connection.name, map(ToolDefinition.of, offered), asks=self._asks)

    async def _check(self, connection: McpConnection, tool: str) -> ToolChange | None:
        """Returns how the tool's current definition differs from the approved definition. Returns None if
        they are equal. Raises McpUnavailableError if the server cannot be reached.

        Asks the server before each call, because a malicious server would not report that a tool has changed.
        """
        if self._look(connection, await connection.tools()):
            # The log and the model are told before the model's next reply.
            self.expect_changes()
        return self.approvals.change_of(connection.name, tool)

    @staticmethod
    async def _ask(connection: McpConnection) -> "list[RemoteTool] | McpUnavailableError":
        try:
            return await connection.tools()
        except McpUnavailableError as error:
            return error
