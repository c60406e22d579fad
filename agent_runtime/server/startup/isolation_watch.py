"""Ends this server when the spawner has ended, so that both can be started again together.

The command namespaces are the isolated Linux namespaces in which the agent's commands run. The spawner is the
process that starts programs in these namespaces.
"""

import logging
import signal
from collections.abc import Callable

from agent_runtime.workspace import spawner_client
from agent_runtime.workspace.users import spawner_address

logger = logging.getLogger(__name__)


def end_with_spawner() -> Callable[[], None]:
    """Watches the spawner, and ends this server when the spawner ends. The spawner is the process that starts
    programs in the command namespaces (isolated Linux namespaces for the agent's commands). Does nothing if
    there is no spawner. Returns a function that stops the watch.

    Raises OSError if the spawner cannot be watched.
    """
    address = spawner_address()
    return spawner_client.tell_of_end(address, _end) if address else lambda: None


def _end() -> None:
    logger.error("what starts commands has ended, and so does this agent server")
    signal.raise_signal(signal.SIGTERM)
