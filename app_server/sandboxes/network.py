"""The network that all containers share: without a way out, and closed among themselves."""

import socket
from typing import TYPE_CHECKING

from app_server.sandboxes.engine import unavailable

if TYPE_CHECKING:
    from docker import DockerClient

NETWORK = "slipway-sandboxes"
BRIDGE = "slipway0"


def ensure_network(client: "DockerClient") -> str:
    """The address that this host has on the sandboxes' network, which is made if need be."""
    from docker.errors import APIError, NotFound

    try:
        network = client.networks.get(NETWORK)
    except NotFound:
        try:
            network = client.networks.create(
                NETWORK,
                driver="bridge",
                internal=True,
                options={
                    "com.docker.network.bridge.enable_icc": "false",
                    "com.docker.network.bridge.name": BRIDGE,
                },
                check_duplicate=True,
            )
        except APIError as error:
            if error.status_code != 409:
                raise
            network = client.networks.get(NETWORK)  # another app server was faster
        network.reload()
    gateway = str(network.attrs["IPAM"]["Config"][0]["Gateway"])
    with socket.socket() as probe:
        try:
            probe.bind((gateway, 0))
        except OSError as error:
            raise unavailable(
                "The Docker engine runs on another (or a virtual) machine: sandboxes could not reach us.",
                fix="Run Slipway where the Docker engine runs, or set SLIPWAY_SANDBOX=process.",
            ) from error
    return gateway
