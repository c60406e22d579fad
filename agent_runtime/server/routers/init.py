"""The routes of a server that was started before its user was known. POST /api/init sends the settings of
that user to the server.
"""

import hmac
import os
from typing import Annotated, Any

from fastapi import Header, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from agent_runtime.server.config import Config, ConfigError, validated
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.router import Router
from agent_runtime.server.startup.initialization import Initialization, InitState
from agent_runtime.wire import INIT_KEY_HEADER

router = Router(tags=["server"])

_SETTINGS = frozenset(field.alias or name for name, field in Config.model_fields.items())


class InitRequest(BaseModel):
    """The request body of POST /api/init: settings that replace the settings with which the server was
    started. The request may also contain any other setting of the server's configuration; unknown settings
    are ignored.

    `env`: environment variables for this process. The agent's commands get a variable only if it is in the
    server's list of variables for commands.
    """

    model_config = ConfigDict(extra="allow")

    session_api_keys: list[str] | None = None
    secret_key: SecretStr | None = None
    previous_secret_keys: list[SecretStr] | None = None
    conversations_path: str | None = None
    workspace_path: str | None = None
    webhooks: list[dict[str, Any]] | None = None
    web_url: str | None = None
    allow_cors_origins: list[str] | None = None
    max_concurrent_runs: int | None = Field(default=None, ge=1)
    env: dict[str, str] | None = None


class InitStatus(BaseModel):
    state: InitState
    error: str | None = None


@router.get("/api/init", responses={404: {"description": "This server does not wait for its initialization"}})
async def get_init(request: Request) -> InitStatus:
    initialization = _initialization(request)
    return InitStatus(state=initialization.state, error=initialization.error)


@router.post(
    "/api/init",
    responses={
        400: {"description": "It is initialized already"},
        404: {"description": "This server does not wait for its initialization"},
    },
)
async def init(
    wanted: InitRequest,
    request: Request,
    key: Annotated[str | None, Header(alias=INIT_KEY_HEADER)] = None,
) -> InitStatus:
    """Sets the configuration and environment variables of a waiting server, and starts the server's services.
    The request may be repeated after a failure.

    A waiting server was started before its user was known, so that it is ready sooner when a user needs it.
    """
    initialization = _initialization(request)
    expected = initialization.config.init_key or ""
    if not hmac.compare_digest((key or "").encode(), expected.encode()):
        raise ServerProblem(
            401, "not_authenticated", "The init key is wrong.", f"Send it in {INIT_KEY_HEADER}."
        )
    if initialization.state != "dormant":
        raise ServerProblem(400, "already_initialized", f"This server is {initialization.state}.")
    await initialization.begin(_config_for(wanted, initialization.config))
    os.environ.update(wanted.env or {})
    return InitStatus(state=initialization.state)


def _config_for(wanted: InitRequest, config: Config) -> Config:
    given = {name: value for name, value in wanted if value is not None and name in _SETTINGS}
    try:
        return validated({**config.model_dump(by_alias=True), **given})
    except ConfigError as error:
        raise ServerProblem(422, "validation_failed", str(error)) from error


def _initialization(request: Request) -> Initialization:
    initialization: Initialization | None = request.app.state.initialization
    if initialization is None:
        raise ServerProblem(404, "not_found", "This server does not wait for its initialization.")
    return initialization
