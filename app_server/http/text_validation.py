"""Refuses requests with text that the database cannot store: null characters and lone surrogates (halves of a
Unicode character) in JSON bodies.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from starlette.requests import HTTPConnection

# JSON can contain these only as escapes, so most bodies need no further check.
_SUSPICIOUS = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_ILL_FORMED = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class WellformedText:
    """A FastAPI dependency (a check before the route runs) that refuses requests whose JSON body contains
    null characters or lone surrogates. `but`: the beginnings of paths that are not checked here, because
    their routes check their bodies themselves.
    """

    but: tuple[str, ...] = ()

    async def __call__(self, connection: HTTPConnection) -> None:
        """Raises a validation error if a text in the JSON body has null characters or lone surrogates."""
        if not isinstance(connection, Request) or "json" not in connection.headers.get("content-type", ""):
            return
        if connection.scope["path"].startswith(self.but) or not _SUSPICIOUS.search(await connection.body()):
            return
        if any(_ILL_FORMED.search(text) for text in _texts(await connection.json())):
            message = "text must not contain null characters or lone surrogates"
            raise RequestValidationError([{"loc": ("body",), "msg": message, "type": "ill_formed_text"}])


def _texts(value: JsonValue) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
