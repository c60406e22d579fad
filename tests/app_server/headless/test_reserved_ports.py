"""The ports of a server that `slipway run` starts are kept for it until it opens them."""

import subprocess
import sys

import pytest

# Runs in a network with two ports for programs that ask for any port.
TWO_PORTS = "ip link set lo up && echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range && exec "
PROGRAM = """
import socket
from app_server.headless.server_process import reserved_ports
from app_server.http.listeners import _bound_socket

with reserved_ports(2) as ports:
    print(sorted(ports))
    for options in ([], [socket.SO_REUSEADDR]):
        with socket.socket() as other:
            for option in options:
                other.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                other.bind(("127.0.0.1", 0))
            except OSError as error:
                print(error.strerror)
    with _bound_socket("127.0.0.1", ports[0]) as server:
        print(server.getsockname()[1] == ports[0])
"""


@pytest.mark.namespaces
def test_another_program_gets_none_of_them_and_the_server_gets_its_own() -> None:
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f'{TWO_PORTS}"$0" -c "$1"', sys.executable, PROGRAM],
        capture_output=True,
        text=True,
        check=False,
    )

    taken = "Address already in use"
    assert done.stdout.splitlines() == ["[40000, 40001]", taken, taken, "True"], done.stderr
