"""A web site that runs in a sandbox, so that tests can look at it through a proxy: `python sandbox_site.py
PORT`.

The file imports nothing of the project, because it is copied into sandboxes. It uses the packages that the
agent server needs.
"""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PIECE = b"0123456789abcdef" * 4096


async def seen(request: Request) -> Response:
    """Answers with the request that it received, as JSON."""
    body = await request.body()
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.scope["query_string"].decode(),
            "headers": [[name.decode(), value.decode()] for name, value in request.headers.raw],
            "body": body.decode(),
        }
    )


async def given(request: Request) -> Response:
    """Answers with a small page and the headers that the query parameters give, as name and value."""
    response = HTMLResponse("<h1>given</h1>")
    for name, value in request.query_params.multi_items():
        response.headers.append(name, value)
    return response


async def counted(request: Request) -> Response:
    total = 0
    async for piece in request.stream():
        total += len(piece)
    return PlainTextResponse(str(total))


async def large(request: Request) -> Response:
    async def pieces():
        for _ in range(int(request.query_params["pieces"])):
            yield PIECE

    return StreamingResponse(pieces(), media_type="application/octet-stream")


async def drip(request: Request) -> Response:
    """Streams one event at once, and then keeps the stream open until the client disconnects."""

    async def events():
        yield b"data: first\n\n"
        while (await request.receive())["type"] != "http.disconnect":
            continue

    return StreamingResponse(events(), media_type="text/event-stream")


async def away(request: Request) -> Response:
    return RedirectResponse(request.query_params["to"], 302)


async def echo(socket: WebSocket) -> None:
    offered = socket.scope["subprotocols"]
    await socket.accept(subprotocol=offered[-1] if offered else None)
    await socket.send_json({name: socket.headers.get(name) for name in ("origin", "host", "cookie")})
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("text") == "close":
                await socket.close(4321, "as you wish")
                return
            if message.get("text") is not None:
                await socket.send_text(message["text"])
            else:
                await socket.send_bytes(message["bytes"])
    except WebSocketDisconnect:
        return


async def closed(socket: WebSocket) -> None:
    await socket.close()


ROUTES = [
    Route("/given", given),
    Route("/counted", counted, methods=["POST"]),
    Route("/large", large),
    Route("/drip", drip),
    Route("/away", away),
    WebSocketRoute("/echo", echo),
    WebSocketRoute("/closed", closed),
    Route("/{rest:path}", seen, methods=["GET", "POST", "PUT", "PROPFIND", "OPTIONS"]),
]

if __name__ == "__main__":
    uvicorn.run(Starlette(routes=ROUTES), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
