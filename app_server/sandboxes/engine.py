"""The Docker engine: reached, asked, and its refusals put into words."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from app_server.errors import StartFailure

if TYPE_CHECKING:
    from docker import DockerClient

API_TIMEOUT_SECONDS = 30

Result = TypeVar("Result")


def connect() -> "DockerClient":
    """To the engine that `DOCKER_HOST` names, or to this machine's own. Raises StartFailure."""
    import docker  # 0.3 s that a start without Docker need not pay

    try:
        return docker.from_env(version="auto", timeout=API_TIMEOUT_SECONDS)
    except docker.errors.DockerException as error:
        raise unavailable(f"The Docker engine does not answer: {error}") from error


def ask(call: Callable[..., Result], *arguments: Any) -> Result:
    """Makes a blocking call of the SDK; an engine that does not answer or refuses is a StartFailure."""
    from docker.errors import DockerException  # as above
    from requests.exceptions import RequestException

    try:
        return call(*arguments)
    except RequestException as error:
        raise unavailable(f"The Docker engine does not answer: {error}") from error
    except DockerException as error:
        raise StartFailure(
            "sandbox_start_failed",
            f"The Docker engine refused: {error}",
            fix="Retry the start; if it persists, look into the log of the Docker engine.",
        ) from error


def unavailable(
    cause: str,
    fix: str = "Start Docker and see that `docker info` works for this user, or set SLIPWAY_SANDBOX=process.",
) -> StartFailure:
    return StartFailure("docker_unavailable", cause, fix=fix)
