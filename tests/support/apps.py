"""The app server's two apps, whose tables of routes are shared by all apps of a process.

FastAPI prepares a route when it is first asked for. That takes 0.15 seconds of processor time for each app, a
third of a test that sends few requests. The routes do not depend on the configuration. An app that a test
changes must come from `create_app` itself.
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
