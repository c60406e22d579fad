"""Caches the suggested tasks of users for a minute, because a search for them needs many calls to the
host.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from uuid import UUID

from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.schemas import HostTask

KEPT_SECONDS = 60.0
MAX_KEPT = 1000


class SuggestedTasks:
    """Asks hosts for suggested tasks, at most once a minute for each user and host."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: OrderedDict[tuple[UUID, str], tuple[float, Sequence[HostTask]]] = OrderedDict()

    async def of(self, user_id: UUID, host: ConnectedHost) -> Sequence[HostTask]:
        """Returns what waits for the user at this host. Raises the errors of `errors.py`."""
        key = (user_id, host.origin)
        asked_at, tasks = self._kept.get(key, (float("-inf"), ()))
        if self._now() - asked_at < KEPT_SECONDS:
            return tasks
        tasks = await host.client.suggested_tasks()
        self._kept[key] = (self._now(), tasks)
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return tasks
