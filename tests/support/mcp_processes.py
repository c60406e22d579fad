"""Real MCP servers as processes, for as long as a test needs them."""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

HASHED = "sha256:"
"""Before the name of a variable: the server tells the hash of its value, which is not masked."""
ROOT = Path(__file__).parents[2]
STDIO = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server", "stdio"], "cwd": str(ROOT)}


def hash_of(value: str) -> str:
    """What the tool `environment` tells of a variable with this value after HASHED."""
    return hashlib.sha256(value.encode()).hexdigest()


@contextmanager
def http_server(module: str, *arguments: str, **environment: str) -> Iterator[str]:
    """The URL of `python -m module arguments… PORT`, once it listens."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments, str(port)], cwd=ROOT, env={**os.environ, **environment}
    )
    try:
        while not listens(port):
            assert process.poll() is None, "the MCP server has ended"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        # It would wait for those that listen for changes.
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True
