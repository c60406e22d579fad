"""Chooses the application that this process serves: the full application of the agent server, or a small
application that waits until POST /api/init sends the server's configuration.

Each application is imported only if it is served. So the server starts faster, and a server that waits for
POST /api/init needs less memory.
"""

from typing import TYPE_CHECKING

from agent_runtime.server.config import Config, from_environment

if TYPE_CHECKING:
    from fastapi import FastAPI


def application_for(config: Config) -> "FastAPI":
    if config.deferred_init:
        from agent_runtime.server.startup.standby import StandbyApp

        return StandbyApp(config)
    from agent_runtime.server.main import create_app

    return create_app(config)


def application_of_environment() -> "FastAPI":
    return application_for(from_environment())
