"""The Docker network of all sandbox containers. Containers on this network have no connection to the outside,
and no connections to each other.
"""

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app_server.core.errors import StartFailure
from app_server.docker_engine.connection import unavailable

if TYPE_CHECKING:
    from docker import DockerClient

NETWORK = "slipway-sandboxes"
BRIDGE = "slipway0"
_OPTIONS = {"com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": BRIDGE}


def ensure_network(client: "DockerClient") -> str:
    """Creates the Docker network of the sandboxes if it does not exist. Returns this host's address on that
    network.

    Raises StartFailure `sandbox_network_foreign` if there is a network with the same name but other options
    than Slipway sets. Raises StartFailure `docker_unavailable` if the Docker engine runs on another machine.
    """
    from docker.errors import APIError, NotFound

    try:
        network = client.networks.get(NETWORK)
    except NotFound:
        try:
            network = client.networks.create(
                NETWORK,
                driver="bridge",
                internal=True,
                options=_OPTIONS,
                check_duplicate=True,
            )
        except APIError as error:
            if error.status_code != 409:
                raise
            network = client.networks.get(NETWORK)  # another app server was faster
        network.reload()
    _require_ours(network.attrs)
    gateway = str(network.attrs["IPAM"]["Config"][0]["Gateway"])
    with socket.socket() as probe:
        try:
            probe.bind((gateway, 0))
        except OSError as error:
            raise unavailable(
                "The Docker engine runs on another (or a virtual) machine: sandboxes cannot reach Slipway.",
                fix="Run Slipway where the Docker engine runs, or set SLIPWAY_SANDBOX=process.",
            ) from error
    return gateway


def _require_ours(found: Mapping[str, Any]) -> None:
    """Raises StartFailure `sandbox_network_foreign` if the Docker network `found` has other options than
    those that Slipway sets.

    On such a network, sandboxes might reach the outside or each other.
    """
    differs = [name for name, value in _OPTIONS.items() if (found["Options"] or {}).get(name) != value]
    if found["Internal"] and found["Driver"] == "bridge" and not differs:
        return
    raise StartFailure(
        "sandbox_network_foreign",
        f"The Docker network {NETWORK} is not as we make it: sandboxes on it might not be cut off.",
        fix=f"Remove it, then Slipway makes a new one: docker network rm {NETWORK}",
    )
