"""A server that is started ahead of its user, and told later for whom it works."""

from collections.abc import Awaitable, Callable
from typing import Literal

from agent_runtime.server.config import Config

InitState = Literal["dormant", "initializing", "ready"]


class Initialization:
    """Where that stands. `config`: what the server was started with. `serve` begins the work."""

    def __init__(self, config: Config, serve: Callable[[Config], Awaitable[None]]) -> None:
        self.config = config
        self.state: InitState = "dormant"
        self.error: str | None = None
        self._serve = serve

    async def begin(self, config: Config) -> None:
        """Begins to serve `config`. If it fails, it may be tried again with another one."""
        self.state, self.error = "initializing", None
        try:
            await self._serve(config)
        except Exception as error:
            self.state, self.error = "dormant", str(error)
            raise
        self.state = "ready"
