"""Runs real MCP servers as processes while a test needs them."""

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
"""A prefix for the name of a variable: the test server then returns the hash of its value, which is not
masked.
"""
ROOT = Path(__file__).parents[2]
STDIO = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server", "stdio"], "cwd": str(ROOT)}


def hash_of(value: str) -> str:
    """Returns the SHA-256 hash of the value, in the form in which the tool `environment` returns it."""
    return hashlib.sha256(value.encode()).hexdigest()


@contextmanager
def http_server(module: str, *arguments: str, **environment: str) -> Iterator[str]:
    """Runs `python -m module arguments… PORT` and yields the URL of its MCP endpoint when it listens."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments, str(port)], cwd=ROOT, env={**os.environ, **environment}
    )
    try:
        while not listens(port):
            assert process.poll() is None, "the MCP server has ended"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        # An orderly end would wait for clients that listen for changes.
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True
