"""Handles the markers that name what a test needs from the machine.

If the machine lacks it, the test is skipped with the reason. With SLIPWAY_TEST_REQUIRE=all, as in CI, the
test fails instead, so that no test is skipped there unnoticed.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from app_server.sandbox_backends.process.bubblewrap import Unusable, find_bubblewrap
from tests.support.patience import PATIENCE_SECONDS
from tests.support.steady_chromium import CHROMIUM

NGINX_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
"""The PATH for nginx. Debian installs it in /usr/sbin, which is not in the PATH of ordinary users."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        find_out = _MISSING.get(marker.name)
        if find_out and (reason := find_out()):
            leave_out(reason)


def need_program(name: str) -> None:
    """Skips the running test if the program is not installed. With SLIPWAY_TEST_REQUIRE=all it
    fails instead.
    """
    if shutil.which(name) is None:
        leave_out(f"needs {name}")


def leave_out(reason: str) -> None:
    if os.environ.get("SLIPWAY_TEST_REQUIRE") == "all":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@cache
def _docker() -> str | None:
    command = ["docker", "version"]
    found = shutil.which("docker") and subprocess.run(
        command, capture_output=True, check=False, timeout=PATIENCE_SECONDS
    )
    if found and found.returncode == 0:
        return None
    return "needs a running Docker engine"


@cache
def _browser() -> str | None:
    return None if shutil.which(CHROMIUM) else f"needs Chromium at {CHROMIUM} (apt-get install chromium)"


def _nginx() -> str | None:
    return None if shutil.which("nginx", path=NGINX_PATH) else "needs nginx (apt-get install nginx-light)"


def _ripgrep() -> str | None:
    return None if shutil.which("rg") else "needs ripgrep (apt-get install ripgrep)"


def _xmlsec1() -> str | None:
    return None if shutil.which("xmlsec1") else "needs xmlsec1 (apt-get install xmlsec1)"


def _simplesamlphp() -> str | None:
    is_there = shutil.which("php") and Path("/usr/share/simplesamlphp").is_dir()
    return None if is_there else "needs SimpleSAMLphp (apt-get install simplesamlphp php-xml php-mbstring)"


def _postgres() -> str | None:
    return None if os.environ.get("SLIPWAY_TEST_POSTGRES_URL") else "needs SLIPWAY_TEST_POSTGRES_URL"


def _redis() -> str | None:
    return None if os.environ.get("SLIPWAY_TEST_REDIS_URL") else "needs SLIPWAY_TEST_REDIS_URL"


# Root can make mount namespaces without a user namespace.
OWN_MOUNTS = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")


@cache
def _namespaces() -> str | None:
    command = [*OWN_MOUNTS, "true"]
    done = shutil.which("unshare") and subprocess.run(command, capture_output=True, check=False)
    return None if done and done.returncode == 0 else "needs mount namespaces (unshare --mount)"


@cache
def _bubblewrap() -> str | None:
    try:
        find_bubblewrap()
    except Unusable as error:
        return f"needs a working bubblewrap: {error.cause}"
    return None


@cache
def _low_ports() -> str | None:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.77.77", 443))
        except OSError:
            return "needs to listen on port 443 of 127.0.77.77 (Linux, root)"
    return None


@cache
def _own_engine() -> str | None:
    tools = ("dockerd", "docker", "ip", "nsenter", "setpriv", "unshare")
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if os.geteuid() != 0 or lacking:
        return f"needs to be root, and {', '.join(lacking or tools)}, to run a Docker engine of its own"
    return _docker() or _namespaces()


_MISSING: dict[str, Callable[[], str | None]] = {
    "docker": _docker,
    "own_engine": _own_engine,
    "nginx": _nginx,
    "namespaces": _namespaces,
    "bubblewrap": _bubblewrap,
    "browser": _browser,
    "postgres": _postgres,
    "redis": _redis,
    "ripgrep": _ripgrep,
    "xmlsec1": _xmlsec1,
    "simplesamlphp": _simplesamlphp,
    "low_ports": _low_ports,
}
