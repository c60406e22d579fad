"""Limits the number of open streams of each user. Each costs a queue, two tasks and a file descriptor."""

from collections import defaultdict
from uuid import UUID
from weakref import WeakSet

from starlette.websockets import WebSocket, WebSocketState

MAX_STREAMS = 256
"""Maximum number of open streams of one user."""


class OpenStreams:
    """The open streams of this process. A stream is removed when it ends."""

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._open: defaultdict[UUID, WeakSet[WebSocket]] = defaultdict(WeakSet)

    def admit(self, user_id: UUID, websocket: WebSocket) -> bool:
        """Adds the stream. Returns False if the user has too many streams."""
        found = self._open[user_id]
        for one in [one for one in found if _has_ended(one)]:
            found.discard(one)
        if len(found) >= self._limit:
            return False
        found.add(websocket)
        return True


def _has_ended(websocket: WebSocket) -> bool:
    return WebSocketState.DISCONNECTED in {websocket.client_state, websocket.application_state}
