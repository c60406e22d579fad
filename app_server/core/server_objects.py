"""Lets routes receive objects of the running server, such as the database, as parameters.

The objects are created when the server starts (server_state.py). The module of each class defines a type
alias for such parameters, for example `ServerDatabase`.
"""

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app_server.core.config import Config


def from_server(name: str) -> Any:
    """Returns a FastAPI dependency that gives a route one object of the running server. `name`: the field of
    `ServerState` that contains the object.
    """

    # Asynchronous, or FastAPI would call it in a thread.
    async def find(connection: HTTPConnection) -> Any:
        return getattr(connection.state, name)

    return Depends(find)


ServerConfig = Annotated[Config, from_server("config")]
