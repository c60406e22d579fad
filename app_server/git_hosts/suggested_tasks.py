"""Caches the suggested tasks of users for a minute, because the search for such tasks needs many calls to a
git host. A suggested task is, for example, an open issue that is assigned to the user.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from uuid import UUID

from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.schemas import HostTask

CACHE_SECONDS = 60.0
MAX_CACHED = 1000


class SuggestedTasks:
    """A cache of suggested tasks, such as open issues that are assigned to the user. It asks a git host for
    the tasks of a user at most once a minute.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._cached: OrderedDict[tuple[UUID, str], tuple[float, Sequence[HostTask]]] = OrderedDict()

    async def of(self, user_id: UUID, host: ConnectedHost) -> Sequence[HostTask]:
        """Returns the suggested tasks of the user at this git host. If the host was asked less than a minute
        ago, returns the cached tasks. If the call to the host fails, raises one of the errors that
        `git_hosts/errors.py` lists.
        """
        key = (user_id, host.origin)
        asked_at, tasks = self._cached.get(key, (float("-inf"), ()))
        if self._now() - asked_at < CACHE_SECONDS:
            return tasks
        tasks = await host.client.suggested_tasks()
        self._cached[key] = (self._now(), tasks)
        self._cached.move_to_end(key)
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return tasks
