"""Puts the app server together: what lives as long as it does, its two apps, and their routers.

The public app serves browsers and API clients. The inner app serves sandboxes and knows no cookies. Both
share the objects that `lifespan` makes; handlers find them on `request.state`.
"""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx
from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app_server import demo, status, web_client
from app_server.background import Background
from app_server.config import Config
from app_server.consents import router as consents
from app_server.conversations import (
    browser_routes,
    checkpoint_routes,
    command_routes,
    confirmation_routes,
    consent_routes,
    event_routes,
    git_routes,
    goal_routes,
    mcp_change_routes,
    skill_routes,
    start_task_routes,
    steering_routes,
    task_routes,
)
from app_server.conversations import router as conversations
from app_server.conversations.start_worker import StartWorker
from app_server.database import Database, install_database_errors
from app_server.encryption import load_cipher
from app_server.errors import PROBLEM_RESPONSES, add_problem_schema, install_error_handlers
from app_server.events.schemas import MAX_REPORT_BYTES
from app_server.llm_gateway import router as llm_gateway
from app_server.mcp_broker import router as mcp_broker
from app_server.mcp_broker.pass_through import MAX_REQUEST_BYTES, Exchanges
from app_server.mcp_servers import router as mcp_servers
from app_server.mcp_servers.grants import Grants
from app_server.mcp_servers.sign_in import SignIns
from app_server.memory import router as memory
from app_server.middleware import BodyLimit, HostCheck, OriginCheck, RequestContext
from app_server.migrate import migrate
from app_server.pubsub import make_pubsub
from app_server.sandboxes import router as sandboxes_router
from app_server.sandboxes import secret_routes
from app_server.sandboxes.service import Sandboxes
from app_server.secrets import router as secrets
from app_server.settings import confirmation
from app_server.settings import router as settings
from app_server.settings.profiles import add_demo_profile
from app_server.sign_in import router as sign_in
from app_server.static import install_frontend
from app_server.users import router as users
from app_server.users.models import Role
from app_server.users.service import create_user, find_owner
from app_server.version import VERSION
from app_server.webhooks import router as webhooks
from app_server.wellformed import require_wellformed_text

logger = logging.getLogger(__name__)

State = dict[str, Any]

_MONITOR_INTERVAL_SECONDS = 2.0
_REST_INTERVAL_SECONDS = 15.0

_PUBLIC_ROUTERS = (
    status.router,
    users.router,
    sign_in.router,
    settings.router,
    secrets.router,
    mcp_servers.router,
    mcp_servers.sign_in_router,
    confirmation.router,
    memory.router,
    consents.router,
    web_client.router,
    sandboxes_router.router,
    start_task_routes.router,
    conversations.router,
    conversations.pending_router,
    git_routes.router,
    browser_routes.router,
    command_routes.router,
    skill_routes.router,
    steering_routes.router,
    confirmation_routes.router,
    consent_routes.router,
    mcp_change_routes.router,
    goal_routes.router,
    checkpoint_routes.router,
    task_routes.router,
    event_routes.router,
)
_INNER_ROUTERS: tuple[APIRouter, ...] = (
    status.inner_router,
    llm_gateway.router,
    mcp_broker.router,
    secret_routes.inner_router,
    webhooks.router,
)


@asynccontextmanager
async def lifespan(config: Config) -> AsyncIterator[State]:
    """Everything with a life, opened in order and closed in reverse."""
    config.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with AsyncExitStack() as stack:
        database = await _open_database(config, stack)
        await _make_demo(config)
        cipher = load_cipher(config)
        http = await stack.enter_async_context(_http_client())
        pubsub = make_pubsub(config.redis_url.get_secret_value() if config.redis_url else None)
        stack.push_async_callback(pubsub.close)
        sandboxes = Sandboxes(config, database, cipher)
        await sandboxes.open()
        stack.push_async_callback(sandboxes.close)
        background = Background()
        stack.push_async_callback(background.close)
        background.run_forever(
            sandboxes.check, name="sandbox monitor", interval_seconds=_MONITOR_INTERVAL_SECONDS
        )
        background.run_forever(sandboxes.rest, name="idle sandboxes", interval_seconds=_REST_INTERVAL_SECONDS)
        start_worker = StartWorker(config, database, cipher, sandboxes, pubsub)
        sandboxes.on_change = start_worker.announce
        mcp_sign_ins = SignIns()
        stack.push_async_callback(mcp_sign_ins.close)
        await start_worker.open()
        stack.push_async_callback(start_worker.close)
        yield {
            "config": config,
            "database": database,
            "cipher": cipher,
            "http": http,
            "background": background,
            "pubsub": pubsub,
            "sandboxes": sandboxes,
            "start_worker": start_worker,
            "mcp_exchanges": Exchanges(),
            "mcp_grants": Grants(database, cipher, http),
            "mcp_sign_ins": mcp_sign_ins,
        }


def create_app(config: Config) -> FastAPI:
    """The public app."""
    app = _PublicApp(
        title="Slipway",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=PROBLEM_RESPONSES,
        dependencies=[Depends(require_wellformed_text)],
        middleware=[
            Middleware(RequestContext),
            Middleware(HostCheck, config=config),
            Middleware(OriginCheck, config=config),
            Middleware(BodyLimit, max_bytes=config.max_body_bytes),
        ],
    )
    install_error_handlers(app)
    install_database_errors(app)
    for router in _PUBLIC_ROUTERS:
        app.include_router(router)
    install_frontend(app)
    return app


def create_inner_app(config: Config) -> FastAPI:
    """The app for sandboxes: events in, calls of models and MCP servers out."""
    app = FastAPI(
        title="Slipway, inner listener",
        version=VERSION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(RequestContext),
            Middleware(
                BodyLimit,
                max_bytes=config.max_body_bytes,
                below={
                    webhooks.router.prefix: MAX_REPORT_BYTES,
                    mcp_broker.router.prefix: MAX_REQUEST_BYTES,
                },
            ),
        ],
    )
    install_error_handlers(app)
    install_database_errors(app)
    for router in _INNER_ROUTERS:
        app.include_router(router)
    return app


class WithState:
    """Serves `app` with the objects of `lifespan` on `request.state`."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": dict(self._state)}, receive, send)


class _PublicApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        description = super().openapi()
        add_problem_schema(description)
        return description


def _http_client() -> httpx.AsyncClient:
    # No limit on connections: a model's replies may occupy many for minutes.
    # No cookies: what a vendor sets for one user would be sent for the next one, too.
    return httpx.AsyncClient(
        timeout=30,
        limits=httpx.Limits(max_connections=None),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
    )


async def _make_demo(config: Config) -> None:
    try:
        await asyncio.to_thread(demo.make_repository, config.home)
    except (OSError, subprocess.SubprocessError):
        logger.exception("the demo repository cannot be made; is git installed?")


async def _open_database(config: Config, stack: AsyncExitStack) -> Database:
    if config.database_file:
        # Made here for its mode, which SQLite gives to the files beside it too.
        config.database_file.touch(mode=0o600)
    database = Database(config.resolved_database_url)
    stack.push_async_callback(database.close)
    await migrate(database)
    async with database.session() as session:
        if await find_owner(session) is None:
            owner = await create_user(session, name="Owner", role=Role.OWNER)
            await add_demo_profile(session, owner.id)
    return database
