"""The MCP servers of one conversation, and the tools they offer at the moment."""

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
    """Nothing is started before the first `refresh`. A server that cannot be reached does not keep the
    others away: it is named in `report`, and asked again at the next refresh.
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
        """approvals: what is known of the servers, and takes in what becomes known.

        ask_user: has a person answer what servers ask in the middle of a call; None if none is there.

        credential_for: what opens the address of a server that brings no credential of its own.

        pydantic.ValidationError for a configuration that names no server where one should be.
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
        """Those of them that are not here yet. pydantic.ValidationError."""
        known = {connection.name for connection in self._connections}
        self._connections += [
            self._connection(name, server) for name, server in servers_of(config).items() if name not in known
        ]
        self.expect_changes()

    def replace(self, config: Mapping[str, Any]) -> None:
        """Those that are here and described in other words now. A call that is going on comes to its end."""
        servers = servers_of(config)
        for position, connection in enumerate(self._connections):
            server = servers.get(connection.name)
            if server is not None and server != connection.server:
                self._outdated.append(connection)
                self._connections[position] = self._connection(connection.name, server)
                self.expect_changes()

    @property
    def is_stale(self) -> bool:
        """Whether the tools may be others by now."""
        return self._is_stale

    @property
    def have_lost_secrets(self) -> bool:
        return any(connection.server.has_lost_secrets for connection in self._connections)

    def expect_changes(self) -> None:
        """Not every server says that its tools have changed, and one may have come up meanwhile."""
        self._is_stale = bool(self._connections)

    async def refresh(self, taken: Collection[str], *, asks: bool = False) -> None:
        """Asks every server for its tools, at once. taken: names that other tools have.

        asks: whether the user is asked about new tools as well.
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
        """How a tool that is about to be called differs from what was approved. McpUnavailableError.

        The server is asked each time: one that means harm does not say that it has changed.
        """
        if self._look(connection, await connection.tools()):
            # The log, and the model, are told before its next reply.
            self.expect_changes()
        return self.approvals.change_of(connection.name, tool)

    @staticmethod
    async def _ask(connection: McpConnection) -> "list[RemoteTool] | McpUnavailableError":
        try:
            return await connection.tools()
        except McpUnavailableError as error:
            return error
