"""Creates the two FastAPI apps of the server, with their middleware and their routers.

The public app serves browsers and API clients. The inner app serves sandboxes and accepts no cookies. Both
apps share the objects that `lifespan` opens; route functions take these objects as parameters
(core/server_objects.py).
"""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app_server.access.authentication import identify_user
from app_server.access.route_access import add_permissions, depends_on, require_stated
from app_server.core.config import Config
from app_server.core.database import install_database_errors
from app_server.core.errors import PROBLEM_RESPONSES, add_problem_schema, install_error_handlers
from app_server.core.version import VERSION
from app_server.events.schemas import MAX_REPORT_BYTES
from app_server.gateway.gateway import Gateway
from app_server.git_proxy import router as git_proxy
from app_server.http.large_bodies import LargeBodies
from app_server.http.middleware import BodyLimit, HostCheck, OriginCheck, RequestContext, security_headers
from app_server.http.static_files import install_frontend
from app_server.http.text_validation import WellformedText
from app_server.mcp_broker import router as mcp_broker
from app_server.mcp_broker.pass_through import MAX_REQUEST_BYTES
from app_server.routers import (
    FOREIGN_FORMS,
    INNER_ROUTERS,
    PREFIXES_OF_LARGE_BODIES,
    PREFIXES_OF_SIGNED_BODIES,
    PUBLIC_ROUTERS,
)
from app_server.sandbox_reports import router as webhooks

_MAX_SMALL_BODY_BYTES = 2 * 1024**2


def create_app(config: Config) -> FastAPI:
    """Returns the public app, which serves browsers and API clients."""
    app = _PublicApp(
        title="Slipway",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=PROBLEM_RESPONSES,
        dependencies=[Depends(WellformedText(but=PREFIXES_OF_SIGNED_BODIES))],
        middleware=[
            Middleware(Gateway, config=config),
            Middleware(RequestContext, page_headers=security_headers(config)),
            Middleware(HostCheck, config=config),
            Middleware(OriginCheck, config=config, foreign_forms=FOREIGN_FORMS),
            Middleware(
                BodyLimit,
                max_bytes=min(_MAX_SMALL_BODY_BYTES, config.max_body_bytes),
                above=dict.fromkeys(PREFIXES_OF_LARGE_BODIES, config.max_body_bytes),
            ),
            Middleware(LargeBodies, identify=identify_user, but=PREFIXES_OF_SIGNED_BODIES),
        ],
    )
    install_error_handlers(app)
    install_database_errors(app)
    for router, access in PUBLIC_ROUTERS:
        app.include_router(router, dependencies=[depends_on(access)])
    install_frontend(app)
    return app


def create_inner_app(config: Config) -> FastAPI:
    """Returns the inner app, which serves sandboxes. The app receives events from sandboxes. It also forwards
    the calls of sandboxes to models, MCP servers and git hosts.
    """
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
    for router in INNER_ROUTERS:
        app.include_router(router)
    return app


class WithState:
    """An ASGI app that gives the shared objects of the server to another ASGI app, `app`. For each request,
    it stores the objects in `state` (the fields of the class ServerState) in `request.state`, and then calls
    `app`.
    """

    def __init__(self, app: ASGIApp, state: Mapping[str, Any]) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": dict(self._state)}, receive, send)


class _PublicApp(FastAPI):
    def include_router(self, router: APIRouter, *arguments: Any, **options: Any) -> None:
        require_stated(router, options.get("dependencies") or ())
        super().include_router(router, *arguments, **options)

    def openapi(self) -> dict[str, Any]:
        description = super().openapi()
        add_problem_schema(description)
        add_permissions(self, description)
        return description
