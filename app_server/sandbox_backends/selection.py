"""Chooses how this app server runs sandboxes: as Docker containers, as processes, or on other hosts."""

import logging

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.backend import Backend
from app_server.sandbox_backends.docker.backend import DockerBackend
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandbox_backends.remote.backend import RemoteBackend

logger = logging.getLogger(__name__)


async def choose_backend(config: Config) -> tuple[Backend, bool]:
    """Chooses and opens the sandbox backend that the configuration asks for. Returns the backend, and a bool:
    True if the configuration asks for Docker, but Docker cannot be used, for example because the container
    engine does not answer.

    This is no error, because Docker may become available later. If the configuration asks for no backend,
    Docker is chosen if it can be used, and otherwise processes on this machine.
    """
    process = ProcessBackend(config)
    if config.sandbox == "process":
        await process.open()
        return process, False
    if config.sandbox == "remote":
        remote = RemoteBackend(config)
        await remote.open()
        return remote, False
    docker = DockerBackend(config)
    try:
        await docker.open()
    except StartFailure as failure:
        logger.warning("docker cannot be used", extra={"cause": failure.cause, "fix": failure.fix})
        if config.sandbox == "docker":
            return docker, True
        await docker.close()
        await process.open()
        return process, False
    return docker, False
