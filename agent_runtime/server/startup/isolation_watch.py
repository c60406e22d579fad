"""Ends this server once the room of its commands is gone, so that it is started anew with another one."""

import logging
import signal
from collections.abc import Callable

from agent_runtime.workspace import spawned
from agent_runtime.workspace.users import room_spawner

logger = logging.getLogger(__name__)


def end_with_room() -> Callable[[], None]:
    """Watches from now on, if there is a room, until what it returns is called. OSError."""
    spawner = room_spawner()
    return spawned.tell_of_end(spawner, _end) if spawner else lambda: None


def _end() -> None:
    logger.error("what starts commands has ended, and so does this agent server")
    signal.raise_signal(signal.SIGTERM)
