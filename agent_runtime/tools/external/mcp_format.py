"""Contains the base class of built-in tools whose events have the format of MCP tool events. MCP is the Model
Context Protocol.

Slipway's clients use the protocol of OpenHands. They refuse events with kinds of actions and observations
that this protocol does not define. But they accept MCP tool events with any tool name and any arguments. So a
tool that this protocol does not define uses the format of MCP tool events.
"""

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_runtime.events.content import TextContent
from agent_runtime.tools.json_schema import parameters_of
from agent_runtime.tools.mcp.tool import MCPToolAction, MCPToolObservation
from agent_runtime.tools.tool import Tool

CARRIED = "MCPToolDefinition"


class Arguments(BaseModel):
    """The base class of the arguments of a built-in tool whose events have the format of MCP tool events. The
    model reads the descriptions of the fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class CarriedTool(Tool[MCPToolAction], Generic[ArgumentsT]):
    """The base class of built-in tools whose events have the format of MCP tool events, which every client
    can read. A subclass sets `kind = CARRIED` (the kind of MCP tool events) and `arguments_type` (the class
    of its arguments).
    """

    kind = CARRIED
    action_type = MCPToolAction
    observation_type = MCPToolObservation
    arguments_type: type[ArgumentsT]

    def parameters(self) -> dict[str, JsonValue]:
        return parameters_of(self.arguments_type)

    def parameter_names(self) -> Collection[str]:
        return self.arguments_type.model_fields

    def parse(self, arguments: Mapping[str, JsonValue]) -> MCPToolAction:
        given = self.arguments_type.model_validate(arguments)
        return MCPToolAction(data=given.model_dump(mode="json", exclude_none=True))

    def arguments(self, action: MCPToolAction) -> ArgumentsT:
        return self.arguments_type.model_validate(action.data)

    def answer(self, text: str, *, is_error: bool = False) -> MCPToolObservation:
        return MCPToolObservation(content=[TextContent(text=text)], is_error=is_error, tool_name=self.name)
