"""Reads confirmation policies and security analyzers from JSON by their field `kind`. Unknown kinds are
refused. Otherwise a client could believe that an unknown policy is active.
"""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from agent_runtime.events.base import JsonObject

Kind = TypeVar("Kind")


class UnsupportedKindError(Exception):
    """The error that is raised when the confirmation policy or the security analyzer in a request is not
    usable. Either the server does not know its `kind`, or its fields are not valid.
    """


def read_kind(adapter: TypeAdapter[Kind], value: JsonObject, what: str) -> Kind:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnsupportedKindError(
            f"This {what} cannot be used: {f'{where}: ' if where else ''}{first['msg']}"
        ) from error
