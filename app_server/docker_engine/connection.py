"""Connects to the Docker engine and calls it. Errors of the Docker library are converted to StartFailure,
which explains them to users.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from app_server.core.errors import StartFailure
from app_server.docker_engine.refusals import explain

if TYPE_CHECKING:
    from docker import DockerClient

# A working engine answers within milliseconds. Later calls may take longer.
CONNECT_TIMEOUT_SECONDS = 3
API_TIMEOUT_SECONDS = 30

Result = TypeVar("Result")


def connect() -> "DockerClient":
    """Returns a client that is connected to the Docker engine at the address in `DOCKER_HOST`. If
    `DOCKER_HOST` is not set, uses the engine of this machine.

    Raises StartFailure `docker_not_permitted` if the operating system user of this process may not use the
    engine. Raises StartFailure `docker_unavailable` if the engine does not answer.
    """
    import docker  # 0.3 s that a start without Docker need not pay
    from requests.exceptions import RequestException

    try:
        return docker.from_env(version=_api_version(), timeout=API_TIMEOUT_SECONDS)
    except (docker.errors.DockerException, RequestException) as error:
        if any(isinstance(cause, PermissionError) for cause in _causes(error)):
            raise StartFailure(
                "docker_not_permitted",
                "The Docker engine refuses this user.",
                fix="Add the user to the group `docker` (`usermod -aG docker NAME`) and sign in again, or "
                "set SLIPWAY_SANDBOX=process.",
            ) from error
        raise unavailable(f"The Docker engine does not answer: {error}") from error


def ask(call: Callable[..., Result], *arguments: Any) -> Result:
    """Calls a function that uses the Docker library, and returns the result of the function. Blocks the
    caller. Raises StartFailure if the engine does not answer or refuses the request.
    """
    from docker.errors import APIError, DockerException  # as above
    from requests.exceptions import RequestException

    try:
        return call(*arguments)
    except APIError as error:
        raise explain(str(error.explanation or error)) from error
    except RequestException as error:
        raise unavailable(f"The Docker engine does not answer: {error}") from error
    except DockerException as error:
        raise explain(str(error)) from error


def _api_version() -> str:
    """Asks the Docker engine for the version of its API and returns this version, such as `1.47`.

    The Docker library can also ask for the version itself. This function is used instead, because the library
    does not close its connection if no engine answers.
    """
    import docker

    with closing(docker.from_env(version="1.24", timeout=CONNECT_TIMEOUT_SECONDS)) as client:
        return str(client.api.version(api_version=False)["ApiVersion"])


def unavailable(
    cause: str,
    fix: str = "Start Docker, check that `docker info` works for this user, or set SLIPWAY_SANDBOX=process.",
) -> StartFailure:
    return StartFailure("docker_unavailable", cause, fix=fix)


def _causes(error: BaseException | None) -> Iterator[object]:
    """Yields the error, the errors that caused it, and the arguments of all these errors. The caller looks
    for a PermissionError among them. The arguments are included, because the Docker library and its HTTP
    library raise errors that have the original error as an argument.
    """
    while error is not None:
        yield error
        yield from error.args
        for argument in error.args:
            if isinstance(argument, BaseException):
                yield from _causes(argument)
        error = error.__cause__ or error.__context__
