"""Wraps a client of a git host. Before each call, the wrapper gets a valid token for the client. If the
client cannot parse a reply of the host, the wrapper raises an error with a message for the user.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from app_server.core.errors import AppError
from app_server.git_hosts import errors
from app_server.git_hosts.protocol import GitHostClient

_UNEXPECTED = (KeyError, TypeError, AttributeError, ValueError, IndexError)


@dataclass(frozen=True)
class Renewing:
    """Two functions with which a wrapped client of a git host gets a valid token before each call.

    `valid`: returns a valid token. Its first argument is a token that the host has just refused, or None. Its
    second argument is the name of the repository that the call concerns, or None. `with_token`: returns a
    client that uses the token that it gets as its argument.
    """

    valid: Callable[[str | None, str | None], Awaitable[str]]
    with_token: Callable[[str], GitHostClient]


def careful(client: GitHostClient, host: str, renewing: Renewing | None = None) -> GitHostClient:
    """Returns a wrapper of a git host's client that has the same methods. If a reply of the host has an
    unexpected form, the wrapper's methods raise BadGateway `git_host_failed`, and not a Python error such as
    KeyError. `host`: the name of the host, for the error message.

    `renewing`: provides a valid token for each call. If the host refuses this token, the wrapper renews it
    and repeats the call once. None means that all calls use the token of `client`.
    """
    return cast("GitHostClient", _Careful(client, host, renewing))


class _Careful:
    def __init__(self, client: GitHostClient, host: str, renewing: Renewing | None) -> None:
        self._client = client
        self._host = host
        self._renewing = renewing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._checked(name, found) if inspect.iscoroutinefunction(found) else found

    def _checked(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(method)
        async def call(*arguments: Any, **named: Any) -> Any:
            if self._renewing is None:
                return await self._call(method, *arguments, **named)
            is_about_one = next(iter(inspect.signature(method).parameters), None) == "repository"
            repository = str(arguments[0]) if is_about_one and arguments else None
            token = await self._renewing.valid(None, repository)
            own = getattr(self._renewing.with_token(token), name)
            try:
                return await self._call(own, *arguments, **named)
            except AppError as error:
                if error.code != errors.TOKEN_REFUSED:
                    raise
                renewed = await self._renewing.valid(token, repository)
                if renewed == token:
                    raise
            own = getattr(self._renewing.with_token(renewed), name)
            return await self._call(own, *arguments, **named)

        return call

    async def _call(self, method: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        try:
            return await method(*arguments, **named)
        except _UNEXPECTED as error:
            raise errors.failed(self._host, "its answer has an unknown form") from error
