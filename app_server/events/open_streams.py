"""Limits how many live streams each user can have open at the same time, because each stream needs a queue,
two tasks and a file descriptor.
"""

from collections import defaultdict
from typing import Annotated, Protocol
from uuid import UUID
from weakref import WeakSet

from starlette.websockets import WebSocketState

from app_server.core.server_objects import from_server

MAX_STREAMS = 256
"""The maximum number of live streams that one user can have open at the same time."""


class OpenStream(Protocol):
    """A live stream to a client: a WebSocket, or another object that has the state attributes of a WebSocket
    (connecting, connected, disconnected).
    """

    @property
    def client_state(self) -> WebSocketState: ...

    @property
    def application_state(self) -> WebSocketState: ...


class OpenStreams:
    """The live streams that are open in this server process, by user."""

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._open: defaultdict[UUID, WeakSet[OpenStream]] = defaultdict(WeakSet)

    def admit(self, user_id: UUID, stream: OpenStream) -> bool:
        """Adds a new live stream of the user and returns True. Returns False if the user already has the
        maximum number of streams open.
        """
        found = self._open[user_id]
        for one in [one for one in found if _has_ended(one)]:
            found.discard(one)
        if len(found) >= self._limit:
            return False
        found.add(stream)
        return True


ServerOpenStreams = Annotated[OpenStreams, from_server("open_streams")]


def _has_ended(stream: OpenStream) -> bool:
    return WebSocketState.DISCONNECTED in {stream.client_state, stream.application_state}
