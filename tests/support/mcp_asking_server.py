"""An MCP server that asks the user a question during a call: `python -m tests.support.mcp_asking_server REV`.

REV is a revision of the MCP protocol. 2025-06-18 is written here by hand; 2026-07-28 uses the library of MCP,
which asks in another way. The tool `book` asks for a ship and returns the user's answer.
"""

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

OLDER = "2025-06-18"
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name of the ship", "minLength": 2},
        "metres": {"type": "integer", "title": "Length", "minimum": 1, "default": 12},
        "power": {"type": "boolean", "title": "Shore power", "default": True},
        "side": {"type": "string", "enum": ["port", "starboard"], "default": "port"},
    },
    "required": ["name"],
}
BOOK = {
    "name": "book",
    "description": "Books a berth.",
    "inputSchema": {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    message: dict[str, Any] = json.loads(line)
    return message


def book(harbour: str, capabilities: dict[str, Any]) -> str:
    if "elicitation" not in capabilities:
        return "the user cannot be asked"
    asked = {"message": f"Which ship comes to {harbour}?", "requestedSchema": FORM}
    send(id="asked", method="elicitation/create", params=asked)
    while True:
        message = receive()
        if message.get("id") == "asked":
            return json.dumps(message.get("result", message.get("error")))
        if message.get("method") == "notifications/cancelled":
            return "cancelled"


class Ship(BaseModel):
    """The fields of the form FORM, as the pydantic model that the MCP library needs."""

    name: str = Field(min_length=2)
    metres: int = Field(default=12, ge=1)
    power: bool = True
    side: Literal["port", "starboard"] = "port"


def newer() -> None:
    from mcp.server.mcpserver import Elicit, ElicitationResult, MCPServer, Resolve

    server = MCPServer("harbour")

    async def ship(harbour: str) -> Elicit[Ship]:
        return Elicit(f"Which ship comes to {harbour}?", Ship)

    @server.tool(structured_output=False)
    async def book(harbour: str, answer: Annotated[ElicitationResult[Ship], Resolve(ship)]) -> str:
        """Books a berth."""
        data = getattr(answer, "data", None)
        content = {} if data is None else {"content": data.model_dump()}
        return json.dumps({"action": answer.action, **content})

    server.run("stdio")


def older() -> None:
    capabilities: dict[str, Any] = {}
    while True:
        message = receive()
        match message.get("method"):
            case "initialize":
                capabilities = message["params"]["capabilities"]
                about = {"serverInfo": {"name": "harbour", "version": "1"}, "capabilities": {"tools": {}}}
                send(id=message["id"], result={"protocolVersion": OLDER, **about})
            case "tools/list":
                send(id=message["id"], result={"tools": [BOOK]})
            case "tools/call":
                said = book(message["params"]["arguments"]["harbour"], capabilities)
                send(id=message["id"], result={"content": [{"type": "text", "text": said}]})
            case "ping":
                send(id=message["id"], result={})
            case _ if "id" in message:
                send(id=message["id"], error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    older() if sys.argv[1] == OLDER else newer()
