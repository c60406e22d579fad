"""Checks whether an image can be used for sandboxes. The check is needed because the configuration can name
any image, even an image without an agent server.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app_server.core.errors import StartFailure

if TYPE_CHECKING:
    from docker import DockerClient

_ENTRYPOINT = "/opt/slipway/bin/entrypoint"
_FIX = "Set SLIPWAY_SANDBOX_IMAGE to an image that is based on Slipway's, or unset it to have one built."


def judge_image(client: "DockerClient", name: str) -> StartFailure | None:
    """Checks whether sandboxes can start from this image. Returns None if they can, otherwise the error that
    says why they cannot.

    An image for another processor architecture is always an error, although some engines can emulate it.
    Blocks the thread. Raises the errors of the Docker library.
    """
    attributes = client.images.get(name).attrs
    engine = client.version()["Arch"]
    if attributes["Architecture"] != engine:
        return _wrong_architecture(
            f"{name} is made for {attributes['Architecture']}, the engine runs {engine}."
        )
    if not _starts_ours(attributes["Config"]):
        return _without_agent_server(f"{name} does not start an agent server.")
    return None


def judge_ended(config: Mapping[str, Any], output: str) -> StartFailure | None:
    """Returns the error if a container has ended because of its image: the image is for another kind of
    processor, or it does not start an agent server. Returns None if the image is not the cause.

    `config`: the Docker configuration of the container. `output`: the output of the container.
    """
    if "exec format error" in output:
        return _wrong_architecture(f"{config['Image']} is made for another kind of processor.")
    if not _starts_ours(config):
        return _without_agent_server(f"{config['Image']} does not start an agent server.")
    return None


def _starts_ours(config: Mapping[str, Any]) -> bool:
    return _ENTRYPOINT in [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]


def _wrong_architecture(cause: str) -> StartFailure:
    return StartFailure("sandbox_image_wrong_architecture", cause, fix=_FIX)


def _without_agent_server(cause: str) -> StartFailure:
    return StartFailure("sandbox_image_wrong", cause, fix=_FIX)
