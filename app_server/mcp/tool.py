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
    that the caller can correct. `title`: the tool's name that people see. `permission`: API keys without this
    permission cannot list or call the tool.

    The other fields describe the effects of a call. `changes`: whether it changes data. `is_destructive`:
    whether it can undo or end work. `is_repeatable`: whether a second call with the same arguments has no
    further effect. `reaches_out`: whether it uses services outside of this installation.
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
