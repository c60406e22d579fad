"""Lets routes take objects of the running server, such as the database, as parameters.

The lifespan of the app opens these objects (server_state.py). Next to the class of each object there is an
alias for parameters, such as `ServerDatabase`.
"""

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app_server.core.config import Config


def from_server(name: str) -> Any:
    """Returns the FastAPI dependency that finds an object of the server. `name`: the object's field in
    `ServerState`.
    """

    # Asynchronous, or FastAPI would call it in a thread.
    async def find(connection: HTTPConnection) -> Any:
        return getattr(connection.state, name)

    return Depends(find)


ServerConfig = Annotated[Config, from_server("config")]
