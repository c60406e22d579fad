"""Markers that name what a test needs from the machine.

A test whose need is not met is skipped with the reason, or fails when SLIPWAY_TEST_REQUIRE=all (as in CI), so
that nothing is skipped there without anyone noticing.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache

import pytest

CHROMIUM = "/usr/bin/chromium"


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        find_out = _MISSING.get(marker.name)
        if find_out and (reason := find_out()):
            if os.environ.get("SLIPWAY_TEST_REQUIRE") == "all":
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)


@cache
def _docker() -> str | None:
    command = ["docker", "version"]
    found = shutil.which("docker") and subprocess.run(command, capture_output=True, check=False, timeout=30)
    if found and found.returncode == 0:
        return None
    return "needs a running Docker engine"


@cache
def _browser() -> str | None:
    return None if shutil.which(CHROMIUM) else f"needs Chromium at {CHROMIUM} (apt-get install chromium)"


def _ripgrep() -> str | None:
    return None if shutil.which("rg") else "needs ripgrep (apt-get install ripgrep)"


def _postgres() -> str | None:
    return None if os.environ.get("SLIPWAY_TEST_POSTGRES_URL") else "needs SLIPWAY_TEST_POSTGRES_URL"


def _redis() -> str | None:
    return None if os.environ.get("SLIPWAY_TEST_REDIS_URL") else "needs SLIPWAY_TEST_REDIS_URL"


_MISSING: dict[str, Callable[[], str | None]] = {
    "docker": _docker,
    "browser": _browser,
    "postgres": _postgres,
    "redis": _redis,
    "ripgrep": _ripgrep,
}
