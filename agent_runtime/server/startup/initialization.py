"""Configures a server that was started before its user was known, and so without its final configuration. The
request POST /api/init sends this configuration later.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

from agent_runtime.server.config import Config

InitState = Literal["dormant", "initializing", "ready"]


class Initialization:
    """The state of a server that waits until POST /api/init configures it.

    `config`: the configuration with which the server was started. `serve`: a function that starts the
    services; it is called with the final configuration.
    """

    def __init__(self, config: Config, serve: Callable[[Config], Awaitable[None]]) -> None:
        self.config = config
        self.state: InitState = "dormant"
        self.error: str | None = None
        self._serve = serve

    async def begin(self, config: Config) -> None:
        """Configures the server with `config` and starts the server's services.

        After a failure the call may be repeated with another configuration.
        """
        self.state, self.error = "initializing", None
        try:
            await self._serve(config)
        except Exception as error:
            self.state, self.error = "dormant", str(error)
            raise
        self.state = "ready"
