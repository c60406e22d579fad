"""A WebSocket that sends the events of commands while they run, and receives new commands to start."""

import asyncio
import contextlib
from collections import deque
from typing import Literal

import orjson
from fastapi import WebSocket, WebSocketDisconnect
from pydantic import ValidationError

from agent_runtime.relay.duplex import until_either_ends
from agent_runtime.server.bash.events import to_json
from agent_runtime.server.bash.service import BashService
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.keys.auth import accept_socket, is_auth_frame
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import BashCommand, BashError, BashOutput, ExecuteBashRequest

router = Router(prefix="/sockets")

CLOSE_SLOW_CONSUMER = 1013
MAX_WAITING_EVENTS = 2_000


@router.websocket("/bash-events")
async def bash_events(
    socket: WebSocket, resend_mode: Literal["all"] | None = None, resend_all: bool = False
) -> None:
    """Sends the events BashCommand, BashOutput and BashError over a WebSocket, one event per message. Each
    message from the client is a command to start.

    `resend_all` or `resend_mode=all`: first sends the stored events.
    """
    if not await accept_socket(socket):
        return
    bash: BashService = socket.app.state.bash_service
    waiting = _Waiting(bash.events.all() if resend_all or resend_mode == "all" else [])
    stop = bash.events.subscribe(waiting.add)
    try:
        await until_either_ends(_send(socket, waiting), _receive(socket, bash, waiting))
    finally:
        stop()


class _Waiting:
    """The queue of events that one client has not received yet. A client is disconnected if its queue becomes
    too long.
    """

    def __init__(self, stored: list[BashCommand | BashOutput]) -> None:
        """Creates the queue. `stored`: the events from before the client connected, which are sent first.
        There may be many stored events, so each event is converted to text only when it is sent.
        """
        self._stored = deque(stored)
        self._live: deque[str] = deque()
        self._changed = asyncio.Event()
        self.is_overfull = False

    def add(self, event: str) -> None:
        self.is_overfull = self.is_overfull or len(self._live) >= MAX_WAITING_EVENTS
        if not self.is_overfull:
            self._live.append(event)
        self._changed.set()

    async def next(self) -> str:
        if self._stored:
            return to_json(self._stored.popleft())
        while not self._live:
            self._changed.clear()
            await self._changed.wait()
        return self._live.popleft()


async def _send(socket: WebSocket, waiting: _Waiting) -> None:
    # The reader may go away at any moment.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while not waiting.is_overfull:
            await socket.send_text(await waiting.next())
        await socket.close(CLOSE_SLOW_CONSUMER, "slow_consumer")


async def _receive(socket: WebSocket, bash: BashService, waiting: _Waiting) -> None:
    try:
        while True:
            await _start(bash, await socket.receive_text(), waiting)
    except (WebSocketDisconnect, KeyError):
        return  # it went away, or sends what is no text


async def _start(bash: BashService, text: str, waiting: _Waiting) -> None:
    try:
        body = orjson.loads(text)
        if not is_auth_frame(body):
            await bash.start(ExecuteBashRequest.model_validate(body))
    except ServerProblem as problem:
        waiting.add(to_json(BashError(code=problem.code, detail=problem.detail)))
    except (orjson.JSONDecodeError, ValidationError):
        refusal = BashError(
            code="validation_failed", detail="A frame is a command: {command, cwd?, timeout?}."
        )
        waiting.add(to_json(refusal))
