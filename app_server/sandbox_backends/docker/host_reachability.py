"""Tests whether a container on the sandboxes' network can reach this host. The test opens a port on this host
and lets a container connect to that port.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app_server.sandbox_backends.docker.containers import remove

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "slipway.probe"
PROBE_TIMEOUT_SECONDS = 30
_REACHED = 10
# Tries every address at once, so that packets which are dropped cost their time only once.
_TRY_ALL = f"""
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def reaches(address):
    try:
        socket.create_connection((address, int(sys.argv[1])), timeout=2).close()
    except OSError:
        return False
    return True
with ThreadPoolExecutor() as threads:
    sys.exit({_REACHED} if any(threads.map(reaches, sys.argv[2:])) else 0)
"""


def is_host_reachable(
    client: "DockerClient", image: str, options: dict[str, Any], gateway: str, owner: str = ""
) -> bool:
    """Tests whether a container on the sandboxes' network can reach this host, and returns the result. The
    test starts a container and removes it at the end. Blocks the thread for about a second.

    `options`: the options with which the containers of sandboxes are created, including their network.
    `gateway`: this host's address on that network. `owner`: a text that identifies this app server (see
    `owner_of_helpers`). The test container gets it as a Docker label. If the app server is killed during the
    test, it finds the container by this label at its next start and removes it. Raises the Docker engine's
    errors, and OSError if no port can be opened.
    """
    _remove_left_over(client)
    with _open_port() as port:
        command = ["-c", _TRY_ALL, str(port), *_own_addresses(gateway)]
        container = client.containers.create(
            image, command, entrypoint=["python3"], labels={LABEL: owner}, **options
        )
        try:
            container.start()
            return bool(container.wait(timeout=PROBE_TIMEOUT_SECONDS)["StatusCode"] == _REACHED)
        finally:
            remove(container)


def _remove_left_over(client: "DockerClient") -> None:
    """Removes all test containers that have ended. They are left over because an app server was killed during
    a test.
    """
    for container in client.containers.list(
        filters={"label": LABEL, "status": "exited"}, all=True, sparse=True
    ):
        remove(container)


@contextmanager
def _open_port() -> Iterator[int]:
    """Listens on a free port on all addresses of this host during the `with` block. Yields the port
    number.
    """
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        yield listener.getsockname()[1]


def _own_addresses(gateway: str) -> list[str]:
    """Returns the addresses at which containers may reach this host: `gateway`, which is the host's address
    on the sandboxes' network, and the host's address on the outside network. Sends no packets.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return [gateway]  # a machine without a route to anywhere
        return list(dict.fromkeys([gateway, str(probe.getsockname()[0])]))
