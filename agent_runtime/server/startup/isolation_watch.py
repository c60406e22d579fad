"""Ends this server when the process that starts the agent's commands in isolated namespaces has ended, so
that both can be started again together.
"""

import logging
import signal
from collections.abc import Callable

from agent_runtime.workspace import spawner_client
from agent_runtime.workspace.users import room_spawner

logger = logging.getLogger(__name__)


def end_with_room() -> Callable[[], None]:
    """Watches the process that starts the agent's commands in isolated namespaces, and ends this server when
    that process ends. Does nothing if there is no such process. Returns a function that stops the watch.

    Raises OSError if the process cannot be watched.
    """
    spawner = room_spawner()
    return spawner_client.tell_of_end(spawner, _end) if spawner else lambda: None


def _end() -> None:
    logger.error("what starts commands has ended, and so does this agent server")
    signal.raise_signal(signal.SIGTERM)
