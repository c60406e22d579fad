"""The class McpTool, which describes an MCP tool. The class uses no types of fastmcp, the library that
implements MCP.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app_server.access.permissions import Permission


@dataclass(frozen=True)
class McpTool:
    """A tool of Slipway's own MCP server.

    `run`: an async function that runs when the tool is called. The function's name, docstring, parameters and
    return type are the tool's name, description, input and output. The function raises AppError for errors
    that the caller can correct. `title`: a name for people. `changes`: whether a call changes anything.
    `is_destructive`: whether a call can undo or end work. `is_repeatable`: whether a second call with the
    same arguments changes nothing more. `reaches_out`: whether a call reaches services outside of this
    installation. `permission`: the permission that a caller needs. API keys without this permission cannot
    list or call the tool.
    """

    title: str
    run: Callable[..., Awaitable[Any]]
    changes: bool = False
    is_destructive: bool = False
    is_repeatable: bool = False
    reaches_out: bool = False
    permission: Permission = Permission.READ

    @property
    def annotations(self) -> dict[str, Any]:
        """The hints for MCP clients about the effects of a call of this tool, with the field names of the MCP
        protocol.
        """
        return {
            "title": self.title,
            "readOnlyHint": not self.changes,
            "destructiveHint": self.is_destructive,
            "idempotentHint": self.is_repeatable or not self.changes,
            "openWorldHint": self.reaches_out,
        }
