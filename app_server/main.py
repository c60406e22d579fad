"""Puts the app server together: what lives as long as it does, its two apps, and their routers.

The public app serves browsers and API clients. The inner app serves sandboxes and knows no cookies. Both
share the objects that `lifespan` makes; handlers find them on `request.state`.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app_server.background import Background
from app_server.config import Config
from app_server.database import Database
from app_server.encryption import load_cipher
from app_server.errors import install_error_handlers
from app_server.migrate import migrate
from app_server.users.models import Role
from app_server.users.service import create_user, find_owner

State = dict[str, Any]


@asynccontextmanager
async def lifespan(config: Config) -> AsyncIterator[State]:
    """Everything with a life, opened in order and closed in reverse."""
    config.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with AsyncExitStack() as stack:
        database = Database(config.resolved_database_url)
        stack.push_async_callback(database.close)
        await migrate(database)
        await _ensure_owner(database)
        cipher = load_cipher(config)
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        background = Background()
        stack.push_async_callback(background.close)
        yield {
            "config": config,
            "database": database,
            "cipher": cipher,
            "http": http,
            "background": background,
        }


async def _ensure_owner(database: Database) -> None:
    async with database.session() as session:
        if await find_owner(session) is None:
            await create_user(session, name="Owner", role=Role.OWNER)


def create_app(config: Config) -> FastAPI:
    """The public app."""
    app = FastAPI(title="Slipway")
    install_error_handlers(app)
    return app


def create_inner_app(config: Config) -> FastAPI:
    """The app for sandboxes: events in, LLM calls out."""
    app = FastAPI(title="Slipway, inner listener", openapi_url=None)
    install_error_handlers(app)
    return app


class WithState:
    """Serves `app` with the objects of `lifespan` on `request.state`."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": dict(self._state)}, receive, send)
