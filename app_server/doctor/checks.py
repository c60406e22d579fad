"""The checks of the command `slipway doctor`. They find problems that prevent sandboxes from working on this
machine or that reduce the safety of sandboxes, and suggest fixes.

A check does not raise an exception for a problem. It returns a Finding that describes the problem.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import httpx

from agent_runtime.wire import RuntimePluginInfo
from app_server.agent_client.client import AgentClient
from app_server.core.config import Config
from app_server.core.errors import AppError, StartFailure
from app_server.docker_engine.connection import ask, connect
from app_server.doctor.engine_checks import check_engine, check_image, check_network
from app_server.doctor.findings import Finding, check_disk, failed, fails_starts, warned, well
from app_server.doctor.home_checks import check_database, check_ports, check_workspaces
from app_server.doctor.host_checks import check_host
from app_server.doctor.isolation_check import check_command_namespaces
from app_server.doctor.memory_checks import check_unused_pool
from app_server.doctor.sign_in_check import check_saml
from app_server.sandbox_backends.backend import Backend
from app_server.sandbox_backends.docker.backend import DockerBackend
from app_server.sandbox_backends.process.agent_server_process import LOOPBACK
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandbox_backends.process.bubblewrap import Unusable, find_bubblewrap
from app_server.sandbox_images.definition import is_made_here
from app_server.sandbox_images.docker_build import INSTALL_CLI
from app_server.sandbox_images.images import base_is_gone, can_be_made, fix_without
from app_server.sandbox_images.preflight import is_present, require_disk_space, require_suitable_base
from app_server.sandboxes.runtime_plugins import how_to_get
from app_server.users.tokens import new_token

if TYPE_CHECKING:
    from docker import DockerClient

PROBE_SECONDS = 8.0
POLL_SECONDS = 0.05
_BROWSER = "browser_tool_set"


async def examine(config: Config) -> AsyncIterator[Finding]:
    """Runs all checks of `slipway doctor` and yields each result as soon as it is known. Takes a few seconds,
    mostly for the start of a test sandbox.
    """
    yield await asyncio.to_thread(check_disk, "disk", config.home)
    for finding in await check_database(config):
        yield finding
    yield _check_git()
    for finding in check_saml(config):
        yield finding
    examined = _examine_hosts(config) if config.sandbox == "remote" else _examine_here(config)
    async for finding in examined:
        yield finding


async def _examine_hosts(config: Config) -> AsyncIterator[Finding]:
    yield await asyncio.to_thread(check_ports, config, [LOOPBACK])
    for finding in _check_builders(config):
        yield finding
    for host_config in config.sandbox_hosts:
        for finding in await check_host(host_config, config):
            yield finding


async def _examine_here(config: Config) -> AsyncIterator[Finding]:
    client: DockerClient | None = None
    if config.sandbox != "process":
        try:
            client = await asyncio.to_thread(connect)
        except StartFailure as failure:
            report = failed if config.sandbox == "docker" else warned
            yield report("engine", failure.cause, failure.fix, failure.code)
    walls = await asyncio.to_thread(_check_walls, config, uses_processes=client is None)
    yield walls
    if client is None:
        yield await asyncio.to_thread(check_ports, config, [LOOPBACK])
        if config.sandbox != "docker":
            if is_walled := walls.state == "ok" and config.process_isolation != "none":
                yield await asyncio.to_thread(check_command_namespaces)
            yield _check_policy(config, is_walled=is_walled)
            for finding in [
                *check_unused_pool(config),
                *await check_workspaces(config, PROCESS),
                *await _check_probe(ProcessBackend(config), config),
            ]:
                yield finding
        return
    async for finding in _examine_engine(client, config):
        yield finding
    for finding in await check_workspaces(config, "docker"):
        yield finding


async def _examine_engine(client: "DockerClient", config: Config) -> AsyncIterator[Finding]:
    found: dict[str, Finding] = {}
    for finding in _check_builders(config):
        yield finding
    with closing(client):
        for name, check in (("engine", check_engine), ("image", check_image), ("network", check_network)):
            for finding in await asyncio.to_thread(_ask, name, check, client, config):
                found[finding.name] = finding
                yield finding
        if found["image"].state != "ok" and found["image"].code is None:
            yield await _check_base(client, config)
    if found["image"].state == "ok":
        for finding in await _check_probe(DockerBackend(config), config):
            yield finding


def _ask(
    name: str,
    check: Callable[["DockerClient", Config], list[Finding]],
    client: "DockerClient",
    config: Config,
) -> list[Finding]:
    try:
        return ask(check, client, config)
    except StartFailure as failure:
        return [fails_starts(name, failure)]


def _check_git() -> Finding:
    if shutil.which("git"):
        return well("git", "git is installed.")
    return failed("git", "git is not installed: no repository can be cloned.", "apt-get install git")


def _check_walls(config: Config, *, uses_processes: bool) -> Finding:
    try:
        find_bubblewrap()
    except Unusable as error:
        if not uses_processes or config.process_isolation == "none":
            return well("bubblewrap", f"{error.cause} It is not needed here.")
        report = failed if config.process_isolation == "bubblewrap" else warned
        cause = f"{error.cause} Agents are not isolated."
        return report("bubblewrap", cause, error.fix, "bubblewrap_unavailable")
    if uses_processes and config.process_isolation == "none":
        return warned(
            "bubblewrap",
            "It works, but SLIPWAY_PROCESS_ISOLATION=none: agents can read and change your files.",
            "Unset SLIPWAY_PROCESS_ISOLATION.",
        )
    return well("bubblewrap", "It works: a process sandbox sees no files but its workspace.")


def _check_policy(config: Config, *, is_walled: bool) -> Finding:
    if is_walled:
        way = f"Commands reach the network only through the app server: SLIPWAY_EGRESS={config.egress}."
        return well("network", way)
    if config.egress == "open":
        return well("network", "Processes share this machine's network, and SLIPWAY_EGRESS=open.")
    return warned(
        "network",
        f"Processes share this machine's network: SLIPWAY_EGRESS={config.egress} applies only to "
        "programs that use http_proxy.",
        "Install bubblewrap, or use Docker sandboxes: all their traffic goes through the app server.",
    )


def _check_builders(config: Config) -> list[Finding]:
    """Returns a warning if the configuration allows all users to choose base images, and an empty list
    otherwise. The choice is dangerous, because it lets users build images. A build can run any command on the
    machine of the Docker engine, without the isolation of a sandbox.
    """
    if config.sandbox_specs != "everybody" or config.sandbox_image:
        return []
    return [
        warned(
            "image builds",
            "SLIPWAY_SANDBOX_SPECS=everybody: every user can run commands in builds. Builds are not isolated "
            "like sandboxes: they run as root, with a network, on the machine of the engine.",
            "Unset SLIPWAY_SANDBOX_SPECS to allow only admins, or make sure that all users are trusted.",
        )
    ]


async def _check_base(client: "DockerClient", config: Config) -> Finding:
    """Checks whether the sandbox image can be built from the configured base image, and returns the result.
    Called only if the sandbox image does not exist yet.
    """
    base, flavour = config.sandbox_base_image, config.sandbox_flavour
    docker = shutil.which("docker")
    if docker is None:
        return failed("base image", "The docker command, which builds images, is not installed.", INSTALL_CLI)
    try:
        await require_disk_space(docker, flavour)
        if not await is_present(docker, base):
            return await asyncio.to_thread(_check_registry, client, base)
        await require_suitable_base(docker, base, flavour)
    except StartFailure as failure:
        return fails_starts("base image", failure)
    return well("base image", f"The {flavour} image can be built on {base}.")


def _check_registry(client: "DockerClient", base: str) -> Finding:
    if is_made_here(base):
        return fails_starts("base image", base_is_gone(base))
    if can_be_made(base):
        return well("base image", f"{base} is made here for the first build.")
    try:
        ask(client.images.get_registry_data, base)
    except StartFailure as failure:
        return failed(
            "base image",
            f"{base} is not on this machine, and no registry answers for it. {failure.cause}",
            fix_without(base),
            "sandbox_base_missing",
        )
    return well("base image", f"{base} is fetched for the first build.")


async def _check_probe(backend: Backend, config: Config) -> list[Finding]:
    """Starts a test sandbox in the same way as for a conversation, reads the lists of its tools and plugins,
    and deletes the sandbox. Returns findings about the start, the browser and the plugins.
    """
    sandbox_id, began = uuid4(), time.monotonic()
    try:
        await backend.open()
        await backend.prepare(lambda _line: None)
        try:
            seconds = min(PROBE_SECONDS, config.sandbox_start_timeout_seconds)
            usable_tools, plugins = await _start_probe(backend, sandbox_id, seconds)
        finally:
            await backend.delete(sandbox_id)
    except StartFailure as failure:
        return [fails_starts("probe sandbox", failure)]
    except AppError as error:
        return [failed("probe sandbox", error.detail, error.fix or "Build the image again.")]
    except OSError as error:
        return [
            failed(
                "probe sandbox",
                str(error),
                "Make sure that SLIPWAY_HOME is your directory and has free space.",
            )
        ]
    finally:
        await backend.close()
    seconds = time.monotonic() - began
    return [
        well("probe sandbox", f"A test sandbox started, answered and was removed in {seconds:.1f} s."),
        _judge_browser(backend, config, has_one=_BROWSER in usable_tools),
        *(_judge_screen(one, backend, config) for one in plugins if one.port is not None),
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
    return warned("browser", "Agents have no browser: they cannot look at the pages that they make.", fix)


def _judge_screen(plugin: RuntimePluginInfo, backend: Backend, config: Config) -> Finding:
    if plugin.status != "unavailable":
        return well(plugin.name, "It starts when a user opens it.")
    fix = how_to_get(backend.kind.backend, config) or plugin.fix or ""
    return warned(plugin.name, plugin.reason or "", fix)


async def _start_probe(
    backend: Backend, sandbox_id: UUID, seconds: float
) -> tuple[Collection[str], Collection[RuntimePluginInfo]]:
    """Starts the test sandbox and waits until its agent server answers. Returns the names of the tools that
    agents can use in the sandbox, and the runtime plugins (such as VS Code) of the sandbox. Raises
    StartFailure if there is no answer within `seconds`.
    """
    key = new_token()
    machine = await backend.start(sandbox_id, key, lambda _line: None)
    async with httpx.AsyncClient(trust_env=False) as http:
        client, deadline = AgentClient(http, machine.url, key, machine.headers), time.monotonic() + seconds
        while not await client.is_healthy():
            is_late = time.monotonic() > deadline
            if is_late or await backend.find_dead([sandbox_id]):
                words = await backend.last_words(sandbox_id)
                code = "sandbox_start_timeout" if is_late else words.code
                raise StartFailure(code, words.cause, fix=words.fix, output=words.output)
            await asyncio.sleep(POLL_SECONDS)
        return await client.usable_tools(), await client.runtime_plugins()
