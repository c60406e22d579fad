"""Contains the application of a server that waits for POST /api/init and needs little memory until then.

While the server starts, before that request, this module imports FastAPI and all modules that conversations
need, because these imports take long. The request POST /api/init imports the other modules of the full
application: services, HTTP clients, sockets and routes. These need much memory, but their import is fast.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request
from starlette.types import Receive, Scope, Send

import agent_runtime.conversation.conversation  # noqa: F401 (0.15 s that a start would wait for)
from agent_runtime.server.config import Config
from agent_runtime.server.description import TITLE, root_path
from agent_runtime.server.errors import ServerProblem, install_error_handlers, problem_response
from agent_runtime.server.keys.auth import CLOSE_RESTARTING
from agent_runtime.server.origins import Cors, OpenServerGuard
from agent_runtime.server.routers import info, init
from agent_runtime.server.startup.initialization import Initialization
from agent_runtime.server.startup.lazy_modules import loading
from agent_runtime.wire import NOT_ANSWERED_HEADER


class StandbyApp(FastAPI):
    """The application of an agent server that was started without its configuration. Until POST /api/init
    sends the configuration, the application refuses all requests except this one and those about the server's
    state. After that it forwards all requests to the full application.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(title=TITLE, openapi_url=None, lifespan=_lifespan, root_path=root_path(config))
        self._application: FastAPI | None = None
        self._running = AsyncExitStack()
        self.state.config = config
        self.state.initialization = Initialization(config, self._serve)
        install_error_handlers(self)
        self.add_middleware(OpenServerGuard, state=self.state)
        self.add_middleware(Cors, state=self.state)
        self.include_router(info.router)
        self.include_router(init.router)
        self.router.default = self._refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._application is None or scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def close(self) -> None:
        await self._running.aclose()

    async def _serve(self, config: Config) -> None:
        # In a thread, so that GET /api/init can be answered meanwhile.
        application = await asyncio.to_thread(_load, config, self.state.initialization)
        await self._running.enter_async_context(application.router.lifespan_context(application))
        application.state.started_at = self.state.started_at
        self._application = application

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = ServerProblem(
            503,
            "not_initialized",
            f"This server is {self.state.initialization.state}: it is not initialized yet.",
            "Send POST /api/init with its X-Init-API-Key.",
        )
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": CLOSE_RESTARTING, "reason": problem.code})
            return
        # Requests to ports of this sandbox get this reply, too.
        response = problem_response(Request(scope), problem, headers={NOT_ANSWERED_HEADER: problem.code})
        await response(scope, receive, send)


def _load(config: Config, initialization: Initialization) -> FastAPI:
    with loading():
        from agent_runtime.server.main import create_app

        return create_app(config, initialization)


@asynccontextmanager
async def _lifespan(app: StandbyApp) -> AsyncIterator[None]:
    app.state.started_at = time.monotonic()
    try:
        yield
    finally:
        await app.close()
