"""Makes errors out of what a host's answers contain that no client expects."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, cast

from app_server.git_hosts import errors
from app_server.git_hosts.protocol import GitHostClient

_UNEXPECTED = (KeyError, TypeError, AttributeError, ValueError, IndexError)


def careful(client: GitHostClient, host: str) -> GitHostClient:
    """Returns the client with methods that raise `git_host_failed` for an answer of an unknown form, instead
    of the errors of Python.
    """
    return cast("GitHostClient", _Careful(client, host))


class _Careful:
    def __init__(self, client: GitHostClient, host: str) -> None:
        self._client = client
        self._host = host

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._checked(found) if inspect.iscoroutinefunction(found) else found

    def _checked(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(method)
        async def call(*arguments: Any, **named: Any) -> Any:
            try:
                return await method(*arguments, **named)
            except _UNEXPECTED as error:
                raise errors.failed(self._host, "its answer has an unknown form") from error

        return call
