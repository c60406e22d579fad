"""Builds an HTTP reply that stays open and sends server-sent events (`text/event-stream`) to the client."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketState

from agent_runtime.time_limits import time_limit
from app_server.events.stream import SEND_TIMEOUT_SECONDS, SendText

KEEP_ALIVE_SECONDS = 15.0


class ServerSentEvents(Response):
    """An HTTP reply that stays open and sends server-sent events to the client.

    `serve`: an async function that produces the events. Its argument is a function that sends one JSON text
    as an event. The reply ends when `serve` returns. If the client disconnects or does not read for 30 s,
    `serve` is cancelled.
    """

    media_type = "text/event-stream"

    def __init__(
        self, serve: Callable[[SendText], Coroutine[Any, Any, None]], status_code: int = 200
    ) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(status_code=status_code, headers=headers)
        del self.headers["content-length"]
        self._serve = serve
        self.application_state = WebSocketState.CONNECTED
        self.client_state = WebSocketState.CONNECTED

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (ASGI)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = _Body(send)
        tasks = [
            asyncio.create_task(self._serve(body.send_event), name="events-send"),
            asyncio.create_task(body.keep_alive(), name="events-keep-alive"),
            asyncio.create_task(_until_disconnected(receive), name="events-listen"),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.application_state = self.client_state = WebSocketState.DISCONNECTED
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        failures = [
            one for one in results if isinstance(one, Exception) and not isinstance(one, TimeoutError)
        ]
        if failures:
            raise failures[0]
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Body:
    """The body of one open reply of server-sent events. A lock makes sure that only one task at a time writes
    to the body.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()

    async def send_event(self, text: str) -> None:
        await self._write(f"data: {text}\n\n")

    async def keep_alive(self) -> None:
        while True:
            await self._write(": still here\n\n")
            await asyncio.sleep(KEEP_ALIVE_SECONDS)

    async def _write(self, text: str) -> None:
        async with self._turn, time_limit(SEND_TIMEOUT_SECONDS):
            await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
