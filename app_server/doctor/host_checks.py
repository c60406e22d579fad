"""Checks of the command `slipway doctor` for the sandbox hosts: the other machines on which sandboxes run.
Each host is tested with a temporary sandbox.
"""

import asyncio
import time
from uuid import uuid4

from app_server.agent_client.client import AgentClient
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.core.sandbox_hosts import SandboxHost
from app_server.core.version import VERSION
from app_server.doctor.findings import GIBIBYTE, Finding, failed, fails_starts, warned, well
from app_server.sandbox_backends.remote.host import Host
from app_server.sandbox_backends.remote.terminal_hosts import open_host
from app_server.sandbox_backends.remote.wire import HostInfo
from app_server.users.tokens import new_token

PROBE_SECONDS = 30.0
POLL_SECONDS = 0.1


async def check_host(host_config: SandboxHost, config: Config) -> list[Finding]:
    """Checks one sandbox host and returns the findings: whether the host answers and accepts the token, and
    whether its version, memory, image and isolation are suitable. If the host has a sandbox image, also
    checks whether a sandbox starts there.

    `host_config`: the configuration of the host. `config`: the configuration of this app server.
    """
    name = f"host {host_config.name}"
    try:
        async with open_host(host_config, config) as host:
            return await _ask(name, host)
    except StartFailure as failure:
        return [fails_starts(name, failure)]


async def _ask(name: str, host: Host) -> list[Finding]:
    info = await host.greet()
    findings = [_judge_version(name, info), _judge_memory(name, info), _judge_image(name, info)]
    if info.isolation_gap:
        findings.append(warned(name, info.isolation_gap, "Run slipway sandbox-host there as root."))
    if info.image:
        findings.append(await _probe(name, host))
    return findings


def _judge_version(name: str, info: HostInfo) -> Finding:
    if info.version == VERSION:
        return well(name, f"Slipway {info.version} with Docker {info.engine} answers, and accepts the token.")
    cause = f"It runs Slipway {info.version}, this is {VERSION}."
    return warned(name, cause, "Run the same version on both: sandboxes use the version of their host.")


def _judge_memory(name: str, info: HostInfo) -> Finding:
    slots = info.capacity_bytes // info.sandbox_memory_bytes
    room = f"{info.capacity_bytes / GIBIBYTE:.1f} GiB"
    if slots:
        return well(name, f"Its sandboxes may use {room} together, enough for {slots} sandboxes.")
    fix = "Raise SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES there, or lower SLIPWAY_SANDBOX_MEMORY_BYTES."
    return failed(name, f"{room} are not enough for one sandbox.", fix, "sandbox_larger_than_total")


def _judge_image(name: str, info: HostInfo) -> Finding:
    if info.image:
        return well(name, f"{info.image} is there.")
    return warned(
        name, "It has no sandbox image; the first start there has to wait for it.", "slipway images build"
    )


async def _probe(name: str, host: Host) -> Finding:
    sandbox_id, key, began = uuid4(), new_token(), time.monotonic()
    await host.start(sandbox_id, key, lambda _line: None)
    try:
        client = AgentClient(host.http, host.agent_url(sandbox_id), key)
        while not await client.is_healthy():
            if time.monotonic() - began > PROBE_SECONDS:
                words = await host.last_words(sandbox_id)
                cause = f"{words.cause} {words.output}".strip()
                return failed(name, cause, words.fix, "sandbox_start_timeout")
            await asyncio.sleep(POLL_SECONDS)
    finally:
        await host.delete(sandbox_id)
    return well(
        name, f"A test sandbox started, answered and was removed in {time.monotonic() - began:.1f} s."
    )
