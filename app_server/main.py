"""Puts the app server together: what lives as long as it does, its two apps, and their routers.

The public app serves browsers and API clients. The inner app serves sandboxes and knows no cookies. Both
share the objects that `lifespan` makes; handlers find them on `request.state`.
"""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from uuid import UUID

import httpx
from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_runtime.relay.http import new_transport
from app_server import demo, status, web_client
from app_server.addresses import parse_named
from app_server.all_settings import router as all_settings
from app_server.background import Background
from app_server.certificates import public_authorities
from app_server.config import Config
from app_server.consents import router as consents
from app_server.conversations import (
    browser_routes,
    checkpoint_routes,
    command_routes,
    confirmation_routes,
    consent_routes,
    event_routes,
    file_routes,
    git_routes,
    goal_routes,
    mcp_change_routes,
    network_routes,
    own_secrets,
    sandbox_routes,
    sandbox_settings_routes,
    skill_routes,
    snapshot_routes,
    start_task_routes,
    steering_routes,
    task_routes,
)
from app_server.conversations import router as conversations
from app_server.conversations.catch_up import catch_up_all
from app_server.conversations.egress import announce_refusal, repositories_of
from app_server.conversations.git_work import git_work_of
from app_server.conversations.residents import folder_of, llm_caller_of, occupants_of
from app_server.conversations.start_worker import StartWorker
from app_server.conversations.titles import INTERVAL_SECONDS as TITLES_INTERVAL_SECONDS
from app_server.conversations.titles import Titles
from app_server.conversations.view import position_of
from app_server.database import Database, install_database_errors
from app_server.egress import credential_routes as network_credentials
from app_server.egress import router as network
from app_server.egress.authority import load_authority
from app_server.egress.ledger import Ledger
from app_server.egress.proxy import EgressProxy
from app_server.encryption import load_cipher
from app_server.errors import PROBLEM_RESPONSES, add_problem_schema, install_error_handlers
from app_server.events.open_streams import OpenStreams
from app_server.events.schemas import MAX_REPORT_BYTES
from app_server.gateway import router as gateway
from app_server.gateway.exposed import exposed_urls
from app_server.gateway.gateway import Gateway
from app_server.git import provider_routes
from app_server.git import router as git_credentials
from app_server.git_proxy import router as git_proxy
from app_server.git_proxy.access import Moves
from app_server.guarded import Guard, GuardedTransport
from app_server.large_bodies import LargeBodies
from app_server.llm_gateway import (
    administration_routes,
    limit_routes,
    model_list,
    model_routes,
    trial_routes,
)
from app_server.llm_gateway import router as llm_gateway
from app_server.llm_gateway.calls import RENEWAL_SECONDS, Spending
from app_server.llm_gateway.room import Room
from app_server.mcp_broker import router as mcp_broker
from app_server.mcp_broker.pass_through import MAX_REQUEST_BYTES, Exchanges
from app_server.mcp_servers import router as mcp_servers
from app_server.mcp_servers.grants import Grants
from app_server.mcp_servers.sign_in import SignIns
from app_server.memory import router as memory
from app_server.middleware import BodyLimit, HostCheck, OriginCheck, RequestContext, security_headers
from app_server.migrate import migrate, wait_for_other_servers
from app_server.pubsub import make_pubsub, require_redis
from app_server.sandbox_specs import router as sandbox_specs
from app_server.sandboxes import router as sandboxes_router
from app_server.sandboxes import runtime_plugin_routes, secret_routes
from app_server.sandboxes.remote.tls import trust_of_hosts
from app_server.sandboxes.service import Sandboxes
from app_server.secrets import router as secrets
from app_server.settings import confirmation, grouping
from app_server.settings import router as settings
from app_server.settings.profiles import add_demo_profile
from app_server.sign_in import router as sign_in
from app_server.skills import router as skills
from app_server.static import install_frontend
from app_server.upstream import upstream_of
from app_server.users import router as users
from app_server.users.auth import identify_user
from app_server.users.in_use import CHECK_SECONDS, CredentialsInUse
from app_server.users.models import Role
from app_server.users.service import create_user, find_owner
from app_server.version import VERSION
from app_server.webhooks import router as webhooks
from app_server.webhooks.fairness import Fairness
from app_server.wellformed import require_wellformed_text

logger = logging.getLogger(__name__)

State = dict[str, Any]

_MONITOR_INTERVAL_SECONDS = 2.0
_REST_INTERVAL_SECONDS = 15.0

_PUBLIC_ROUTERS = (
    status.router,
    users.router,
    all_settings.router,
    sign_in.router,
    settings.router,
    settings.facts_router,
    trial_routes.router,
    model_list.router,
    provider_routes.router,  # before secrets: `git-providers` is no name of one
    secrets.router,
    git_credentials.router,
    mcp_servers.router,
    mcp_servers.sign_in_router,
    confirmation.router,
    grouping.router,
    network.router,
    network_credentials.router,
    limit_routes.router,
    model_routes.router,
    skills.router,
    administration_routes.router,
    memory.router,
    memory.proposal_router,
    consents.router,
    web_client.router,
    sandboxes_router.router,
    sandbox_specs.router,
    sandbox_specs.settings_router,
    gateway.router,
    sandbox_routes.router,
    runtime_plugin_routes.router,
    snapshot_routes.router,
    start_task_routes.router,
    conversations.router,
    conversations.pending_router,
    git_routes.router,
    browser_routes.router,
    command_routes.router,
    skill_routes.router,
    file_routes.router,
    steering_routes.router,
    confirmation_routes.router,
    consent_routes.router,
    mcp_change_routes.router,
    network_routes.router,
    goal_routes.router,
    checkpoint_routes.router,
    task_routes.router,
    event_routes.router,
)
_MAX_SMALL_BODY_BYTES = 2 * 1024**2
# Messages carry images.
_PREFIXES_OF_LARGE_BODIES = (conversations.router.prefix, conversations.pending_router.prefix)
_INNER_ROUTERS: tuple[APIRouter, ...] = (
    status.inner_router,
    llm_gateway.router,
    mcp_broker.router,
    git_proxy.router,
    secret_routes.inner_router,
    own_secrets.inner_router,
    sandbox_settings_routes.inner_router,
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
        authority = load_authority(config, cipher)
        http = await stack.enter_async_context(_http_client())
        upstream = upstream_of()
        guard = Guard(parse_named(config.egress_private), upstream=upstream)
        guarded_http = await stack.enter_async_context(_http_client(GuardedTransport(guard)))
        trust = trust_of_hosts(config)
        relay_transport = await stack.enter_async_context(new_transport(trust=trust or public_authorities()))
        redis_url = config.redis_url.get_secret_value() if config.redis_url else None
        if redis_url:
            await require_redis(redis_url)
        pubsub = make_pubsub(redis_url)
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
        background.run_forever(
            sandboxes.measure, name="sizes of workspaces", interval_seconds=_REST_INTERVAL_SECONDS
        )
        credentials_in_use = CredentialsInUse(database)
        background.run_forever(
            credentials_in_use.check, name="credentials in use", interval_seconds=CHECK_SECONDS
        )
        spending = Spending(database)
        stack.push_async_callback(spending.close)
        if config.database_file:
            await spending.release_all()
        background.run_forever(spending.renew, name="reservations of calls", interval_seconds=RENEWAL_SECONDS)
        background.run_forever(
            sandboxes.archiving.tidy, name="archives", interval_seconds=_REST_INTERVAL_SECONDS
        )
        background.run_forever(
            sandboxes.backups.make, name="backups", interval_seconds=_REST_INTERVAL_SECONDS
        )
        titles = Titles(database, sandboxes)
        background.run_forever(titles.hand_over_all, name="titles", interval_seconds=TITLES_INTERVAL_SECONDS)
        start_worker = StartWorker(config, database, cipher, sandboxes, pubsub)
        sandboxes.listen(
            on_change=start_worker.announce_sandbox,
            on_return=start_worker.bring_back,
            on_restored=partial(catch_up_all, database),
            position=partial(position_of, database),
        )
        mcp_sign_ins = SignIns()
        stack.push_async_callback(mcp_sign_ins.close)
        await start_worker.open()
        stack.push_async_callback(start_worker.close)

        def tell_of_refusal(sandbox_id: UUID) -> None:
            background.start(announce_refusal(database, pubsub, sandbox_id), name="tell of a refusal")

        ledger = Ledger(database, tell_of_refusal)
        egress = EgressProxy(config, database, cipher, authority, ledger, repositories_of, upstream=upstream)
        background.run_forever(
            egress.end_forbidden, name="open connections", interval_seconds=_MONITOR_INTERVAL_SECONDS
        )
        yield {
            "config": config,
            "database": database,
            "cipher": cipher,
            "http": http,
            "guard": guard,
            "guarded_http": guarded_http,
            "relay_transport": relay_transport,
            "trust_of_hosts": trust,
            "background": background,
            "pubsub": pubsub,
            "credentials_in_use": credentials_in_use,
            "sandboxes": sandboxes,
            "start_worker": start_worker,
            "titles": titles,
            "spending": spending,
            "mcp_exchanges": Exchanges(),
            "mcp_grants": Grants(database, cipher),
            "mcp_sign_ins": mcp_sign_ins,
            "egress": egress,
            "git_work_of": git_work_of,
            "llm_caller_of": llm_caller_of,
            "folder_of": folder_of,
            "exposed_urls": exposed_urls,
            "occupants_of": occupants_of,
            "git_moves": Moves(),
            "fairness": Fairness(),
            "open_streams": OpenStreams(),
            "room_for_models": Room(),
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
            Middleware(Gateway, config=config),
            Middleware(RequestContext, page_headers=security_headers(config)),
            Middleware(HostCheck, config=config),
            Middleware(OriginCheck, config=config),
            Middleware(
                BodyLimit,
                max_bytes=min(_MAX_SMALL_BODY_BYTES, config.max_body_bytes),
                above=dict.fromkeys(_PREFIXES_OF_LARGE_BODIES, config.max_body_bytes),
            ),
            Middleware(LargeBodies, identify=identify_user),
        ],
    )
    install_error_handlers(app)
    install_database_errors(app)
    for router in _PUBLIC_ROUTERS:
        app.include_router(router)
    install_frontend(app)
    return app


def create_inner_app(config: Config) -> FastAPI:
    """The app for sandboxes: events in, calls of models, MCP servers and git hosts out."""
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
                streamed=(f"{git_proxy.router.prefix}/",),
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


def _http_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    # No limit on connections: a model's replies may occupy many for minutes.
    # No cookies: what a vendor sets for one user would be sent for the next one, too.
    return httpx.AsyncClient(
        timeout=30,
        verify=public_authorities(),
        transport=transport,
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
    await _make_owner(database)
    return database


async def _make_owner(database: Database) -> None:
    async with database.read() as session:
        if await find_owner(session) is not None:
            return
    async with database.session() as session:
        # Of several first starts at once, one makes the owner, and the others find it.
        await wait_for_other_servers(await session.connection())
        if await find_owner(session) is None:
            owner = await create_user(session, name="Owner", role=Role.OWNER)
            await add_demo_profile(session, owner.id)
