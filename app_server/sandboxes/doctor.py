"""What keeps sandboxes from working on this machine, or from being as safe as they could be; and what helps.

`slipway doctor` shows it. A check never raises for what it is there to find.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import httpx

from app_server.config import Config
from app_server.errors import AppError, StartFailure
from app_server.sandboxes.agent_client import AgentClient
from app_server.sandboxes.backend import Backend
from app_server.sandboxes.bubblewrap import Unusable, find_bubblewrap
from app_server.sandboxes.docker import DockerBackend
from app_server.sandboxes.engine import ask, connect
from app_server.sandboxes.engine_checks import check_engine, check_image, check_network
from app_server.sandboxes.findings import Finding, check_disk, failed, warned, well
from app_server.sandboxes.images import INSTALL_CLI
from app_server.sandboxes.preflight import is_present, require_fitting_base, require_room
from app_server.sandboxes.process import ProcessBackend
from app_server.users.tokens import new_token

if TYPE_CHECKING:
    from docker import DockerClient

PROBE_SECONDS = 8.0
POLL_SECONDS = 0.05
_BROWSER = "browser_tool_set"


async def examine(config: Config) -> AsyncIterator[Finding]:
    """One finding after the other, in a few seconds together; most of them go into the probe sandbox."""
    yield await asyncio.to_thread(check_disk, "disk", config.home)
    yield _check_git()
    client: DockerClient | None = None
    if config.sandbox != "process":
        try:
            client = await asyncio.to_thread(connect)
        except StartFailure as failure:
            report = failed if config.sandbox == "docker" else warned
            yield report("engine", failure.cause, failure.fix)
    yield await asyncio.to_thread(_check_walls, config, uses_processes=client is None)
    if client is None:
        if config.sandbox != "docker":
            for finding in await _check_probe(ProcessBackend(config), config):
                yield finding
        return
    async for finding in _examine_engine(client, config):
        yield finding


async def _examine_engine(client: "DockerClient", config: Config) -> AsyncIterator[Finding]:
    with closing(client):
        has_image = False
        for name, check in (("engine", check_engine), ("image", check_image), ("network", check_network)):
            for finding in await asyncio.to_thread(_ask, name, check, client, config):
                has_image = has_image or (finding.name == "image" and finding.state == "ok")
                yield finding
    if has_image:
        for finding in await _check_probe(DockerBackend(config), config):
            yield finding
    elif not config.sandbox_image:
        yield await _check_base(config)


def _ask(
    name: str,
    check: Callable[["DockerClient", Config], list[Finding]],
    client: "DockerClient",
    config: Config,
) -> list[Finding]:
    try:
        return ask(check, client, config)
    except StartFailure as failure:
        return [failed(name, failure.cause, failure.fix)]


def _check_git() -> Finding:
    if shutil.which("git"):
        return well("git", "git is there.")
    return failed("git", "git is not installed: no repository can be cloned.", "apt-get install git")


def _check_walls(config: Config, *, uses_processes: bool) -> Finding:
    try:
        find_bubblewrap()
    except Unusable as error:
        if not uses_processes or config.process_isolation == "none":
            return well("bubblewrap", f"{error.cause} It is not needed here.")
        report = failed if config.process_isolation == "bubblewrap" else warned
        return report("bubblewrap", f"{error.cause} Agents run without walls around them.", error.fix)
    if uses_processes and config.process_isolation == "none":
        return warned(
            "bubblewrap",
            "It works, but SLIPWAY_PROCESS_ISOLATION=none: agents can read and change your files.",
            "Unset SLIPWAY_PROCESS_ISOLATION.",
        )
    return well("bubblewrap", "It works: a process sandbox sees no files but its workspace.")


async def _check_base(config: Config) -> Finding:
    """Whether the image that is not there could be built."""
    base, flavour = config.sandbox_base_image, config.sandbox_flavour
    docker = shutil.which("docker")
    if docker is None:
        return failed("base image", "The docker command, which builds images, is not installed.", INSTALL_CLI)
    try:
        await require_room(docker, flavour)
        if not await is_present(docker, base):
            return well("base image", f"{base} is fetched for the first build.")
        await require_fitting_base(docker, base, flavour)
    except StartFailure as failure:
        return failed("base image", f"{failure.cause} {failure.output}".strip(), failure.fix)
    return well("base image", f"The {flavour} image can be built on {base}.")


async def _check_probe(backend: Backend, config: Config) -> list[Finding]:
    """Starts a sandbox as a conversation does, asks it what it has, and removes it again."""
    sandbox_id, began = uuid4(), time.monotonic()
    try:
        await backend.open()
        await backend.prepare(lambda _line: None)
        try:
            usable_tools = await _start_probe(backend, sandbox_id)
        finally:
            await backend.delete(sandbox_id)
    except StartFailure as failure:
        return [failed("probe sandbox", f"{failure.cause} {failure.output}".strip(), failure.fix)]
    except AppError as error:
        return [failed("probe sandbox", error.detail, error.fix or "Build the image anew.")]
    except OSError as error:
        return [
            failed("probe sandbox", str(error), "See that SLIPWAY_HOME is a directory of yours with room.")
        ]
    finally:
        await backend.close()
    seconds = time.monotonic() - began
    return [
        well("probe sandbox", f"One was up, answered and was removed in {seconds:.1f} s."),
        _judge_browser(backend, config, has_one=_BROWSER in usable_tools),
    ]


def _judge_browser(backend: Backend, config: Config, *, has_one: bool) -> Finding:
    if has_one:
        return well("browser", "Agents have one.")
    if backend.kind.backend == "process":
        fix = "apt-get install chromium"
    elif config.sandbox_image:
        fix = f"Put chromium into {config.sandbox_image}, or build it from an image of the flavour full."
    else:
        fix = "SLIPWAY_SANDBOX_FLAVOUR=full; slipway images build --flavour full makes its image."
    return warned("browser", "Agents have none: they cannot look at the pages they make.", fix)


async def _start_probe(backend: Backend, sandbox_id: UUID) -> Collection[str]:
    """What its agents can use."""
    key = new_token()
    machine = await backend.start(sandbox_id, key, lambda _line: None)
    async with httpx.AsyncClient(trust_env=False) as http:
        client, deadline = AgentClient(http, machine.url, key), time.monotonic() + PROBE_SECONDS
        while not await client.is_healthy():
            if time.monotonic() > deadline or await backend.find_dead([sandbox_id]):
                words = await backend.last_words(sandbox_id)
                raise StartFailure(words.code, words.cause, fix=words.fix, output=words.output)
            await asyncio.sleep(POLL_SECONDS)
        return await client.usable_tools()
