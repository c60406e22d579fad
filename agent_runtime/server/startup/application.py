"""What a process serves: the application, or one that waits to be told for whom it works.

Each is loaded only where it is served: how a start would wait, or one that waits would grow.
"""

from typing import TYPE_CHECKING

from agent_runtime.server.config import Config, from_environment

if TYPE_CHECKING:
    from fastapi import FastAPI


def application_for(config: Config) -> "FastAPI":
    if config.deferred_init:
        from agent_runtime.server.startup.standby import DormantApp

        return DormantApp(config)
    from agent_runtime.server.main import create_app

    return create_app(config)


def application_of_environment() -> "FastAPI":
    return application_for(from_environment())
