"""An HTTP server that shows what an MCP broker sends: `python -m tests.support.mcp_echo_server PORT`.

It is no MCP server. It answers with the request that it received. Query parameters of the URL change the
answer: `status=`, `cookie=`, `location=`, `stream=1`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


async def answer(request: Request) -> Response:
    wanted = request.query_params
    headers = {"Mcp-Session-Id": "session-1", "X-Internal": "not for sandboxes"}
    if "location" in wanted:
        headers["Location"] = wanted["location"]
    if "cookie" in wanted:
        headers["Set-Cookie"] = f"visitor={wanted['cookie']}; Path=/"
    if "stream" in wanted:
        return StreamingResponse(_for_ever(), media_type="text/event-stream", headers=headers)
    seen = {
        "method": request.method,
        "headers": dict(request.headers),
        "body": (await request.body()).decode(),
    }
    return JSONResponse(seen, status_code=int(wanted.get("status", "200")), headers=headers)


async def _for_ever() -> AsyncIterator[bytes]:
    yield b"id: 1\ndata: first\n\n"
    await asyncio.Event().wait()


app = Starlette(routes=[Route("/mcp", answer, methods=["GET", "POST", "DELETE"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
