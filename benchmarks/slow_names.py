"""Runs the app server with slow DNS: each lookup of a name below `slow.example` fails after five seconds, as
if the DNS servers did not answer.
"""

import runpy
import socket
import time
from typing import Any

SECONDS = 5.0
ZONE = "slow.example"

_find = socket.getaddrinfo


def _slowly(host: Any, *arguments: Any, **options: Any) -> Any:
    if isinstance(host, str) and host.endswith(f".{ZONE}"):
        time.sleep(SECONDS)  # in one of the threads that look names up
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return _find(host, *arguments, **options)


if __name__ == "__main__":
    socket.getaddrinfo = _slowly
    runpy.run_module("app_server", run_name="__main__")
