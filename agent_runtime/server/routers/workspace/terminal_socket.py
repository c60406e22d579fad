"""A WebSocket that shows a terminal in the workspace to a person, and takes what the person types."""

import logging
import time
from pathlib import Path
from typing import Annotated, Literal

from fastapi import WebSocket, WebSocketDisconnect
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from agent_runtime.relay.duplex import until_either_ends
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.routers.conversation.sockets import enter
from agent_runtime.server.routers.router import Router
from agent_runtime.server.terminals.registry import UserTerminals
from agent_runtime.server.terminals.user_terminal import Size, UserTerminal, Viewer

logger = logging.getLogger(__name__)

router = Router(prefix="/sockets")

CLOSE_NORMAL, CLOSE_INVALID, CLOSE_FAILED = 1000, 1007, 1011
_INITIAL_SIZE = Size(columns=80, rows=24)


class Resize(BaseModel):
    """A message of the client: the size of the terminal on its page, in characters."""

    type: Literal["resize"]
    columns: Annotated[int, Field(ge=2, le=1000)]
    rows: Annotated[int, Field(ge=1, le=1000)]


class ShellEnded(BaseModel):
    """The last message to the client. `exit_code`: that of the shell; negative for a signal."""

    type: Literal["ended"] = "ended"
    exit_code: int


class ShellNotStarted(BaseModel):
    """The only message to the client if there is no shell. `detail`: the reason."""

    type: Literal["error"] = "error"
    code: Literal["shell_not_started"] = "shell_not_started"
    detail: str


_MESSAGE = TypeAdapter(Resize)


@router.websocket("/terminal/{conversation_id}")
async def terminal(socket: WebSocket, conversation_id: str) -> None:
    """Shows the terminal of a conversation: a bash in its working directory, which all clients share. Binary
    messages are the terminal's output, and what a client types. A client can send Resize as a text message.
    The last message is ShellEnded.

    The shell stays when the clients have left, for KEPT_SECONDS. A client that comes back gets the last
    output first.
    """
    conversation = await enter(socket, conversation_id)
    if conversation is None:
        return
    terminals: UserTerminals = socket.app.state.terminals
    directory = Path(conversation.spec.working_dir)
    try:
        async with terminals.viewed(conversation.id, directory, _INITIAL_SIZE) as (shown, viewer):
            await until_either_ends(_send(socket, shown, viewer), _receive(socket, shown))
    except OSError as error:
        detail = f"The shell could not be started in {directory}: {error.strerror}."
        await socket.send_text(ShellNotStarted(detail=detail).model_dump_json())
        await socket.close(CLOSE_FAILED)


async def _send(socket: WebSocket, shown: UserTerminal, viewer: Viewer) -> None:
    try:
        while data := await viewer.next():
            await socket.send_bytes(data)
        ended = ShellEnded(exit_code=await shown.ended)
        await socket.send_text(ended.model_dump_json())
        await socket.close(CLOSE_NORMAL)
    except WebSocketDisconnect:
        return


async def _receive(socket: WebSocket, shown: UserTerminal) -> None:
    registry: Registry = socket.app.state.registry
    while (message := await socket.receive())["type"] == "websocket.receive":
        # A sandbox in whose terminal a person types is in use.
        registry.last_activity = time.monotonic()
        if data := message.get("bytes"):
            await shown.type(data)
            continue
        try:
            size = _MESSAGE.validate_json(message.get("text") or "")
        except ValidationError:
            await socket.close(CLOSE_INVALID, "A text message must be a resize message")
            return
        shown.resize(Size(columns=size.columns, rows=size.rows))
