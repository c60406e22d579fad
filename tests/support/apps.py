"""Makes the two FastAPI apps of the app server. All apps of a process share their tables of routes.

FastAPI prepares a route at the first request for it. That takes 0.15 seconds of processor time for each app,
a third of a test that sends few requests. The routes do not depend on the configuration. A test that changes
an app must call `create_app` itself, because the apps of this module share their routes.
"""

from fastapi import APIRouter, FastAPI

from app_server.core.config import Config
from app_server.main import create_app, create_inner_app
from tests.support.shared_demo import share_demo

_ROUTES: dict[str, APIRouter] = {}
share_demo()


def public_app(config: Config) -> FastAPI:
    app = create_app(config)
    app.router = _ROUTES.setdefault("public", app.router)
    return app


def inner_app(config: Config) -> FastAPI:
    app = create_inner_app(config)
    app.router = _ROUTES.setdefault("inner", app.router)
    return app
