"""A real MCP server for tests: `python -m tests.support.mcp_server stdio`, or `http PORT`.

Its tools: `add`; `page`, which returns its argument; `picture`; `environment`, which returns an environment
variable of the server, or the hash of its value (`sha256:NAME`), because secret values are masked; `fail`;
`vanish`, which ends the process; `grow` and `grow_for_subscribers`, which add a tool. With `http`, each
request must carry the key that is the value of SLIPWAY_TEST_MCP_KEY, if that is set.
"""

import hashlib
import os
import sys
from typing import Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from tests.support.mcp_processes import HASHED

server = MCPServer("test tools", instructions="Adds numbers.")

# One white pixel.
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe0def"
    "46b80000000049454e44ae426082"
)


@server.tool()
def add(a: int, b: int, sign: Literal["plus", "minus"] = "plus") -> str:
    """Adds two numbers."""
    return f"sum={a + b if sign == 'plus' else a - b}"


@server.tool()
def environment(name: str) -> str:
    """Returns the value of an environment variable of the server, or the hash of the value."""
    wanted = name.removeprefix(HASHED)
    value = os.environ.get(wanted, "(not set)")
    return value if name == wanted else hashlib.sha256(value.encode()).hexdigest()


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def page(text: str) -> str:
    """Returns its argument. The annotations of the tool say that it changes nothing."""
    return text


@server.tool()
def picture() -> Image:
    """Returns a picture of one pixel."""
    return Image(data=_PIXEL, format="png")


@server.tool()
def fail() -> str:
    """Always fails with an error."""
    raise ToolError("no luck today")


@server.tool()
def vanish() -> str:
    """Ends the process of the server."""
    os._exit(3)


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool to the server and announces it, in the ways of the older and the newer protocol."""
    await grow_for_subscribers(ctx)
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def grow_for_subscribers(ctx: Context) -> str:
    """Adds a tool to the server and announces it, only in the way of the newer protocol."""
    server.add_tool(lambda: "new", name="grown", description="Was not there before.")
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        import uvicorn
        from starlette.middleware import Middleware
        from starlette.responses import PlainTextResponse
        from starlette.types import ASGIApp, Receive, Scope, Send

        class _Door:
            def __init__(self, app: ASGIApp) -> None:
                self.app = app

            async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
                wanted = os.environ.get("SLIPWAY_TEST_MCP_KEY", "").encode()
                given = dict(scope.get("headers") or []).get(b"authorization", b"")
                if scope["type"] == "http" and wanted and given != b"Bearer " + wanted:
                    await PlainTextResponse("who are you?", 401)(scope, receive, send)
                else:
                    await self.app(scope, receive, send)

        app = server.streamable_http_app()
        app.user_middleware.insert(0, Middleware(_Door))
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
