"""Checks of the command `slipway doctor` that query the Docker engine. All checks block the caller and raise
the errors of the Docker library.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.doctor.findings import (
    GIBIBYTE,
    Finding,
    check_disk,
    failed,
    fails_starts,
    warned,
    well,
)
from app_server.doctor.home_checks import check_ports
from app_server.doctor.memory_checks import check_memory
from app_server.sandbox_backends.docker.firewall import NotFiltered, admit_only, advice, is_admitted, withdraw
from app_server.sandbox_backends.docker.hardening import hardened, require_runtime
from app_server.sandbox_backends.docker.host_reachability import is_host_reachable
from app_server.sandbox_backends.docker.loop_devices import why_impossible
from app_server.sandbox_backends.docker.network import BRIDGE, NETWORK, ensure_network
from app_server.sandbox_backends.docker.volumes import Volumes
from app_server.sandbox_backends.process.agent_server_process import LOOPBACK
from app_server.sandbox_images.definition import current_images, image_name
from app_server.sandbox_images.image_store import stored_images
from app_server.sandbox_images.validation import judge_image

if TYPE_CHECKING:
    from docker import DockerClient

# Fields of the engine's description, and the limit that sandboxes lack if the field is false.
_LIMITS = {"SwapLimit": "swap", "PidsLimit": "processes", "CpuCfsQuota": "CPUs"}


def check_engine(client: "DockerClient", config: Config) -> list[Finding]:
    info = client.info()
    findings = [well("engine", f"Docker {info['ServerVersion']} answers.")]
    findings += _check_runtime(client, config)
    findings.append(_check_limits(info, config))
    findings += check_memory(info, config)
    findings.append(_check_workspace_size(client, config))
    if not any("seccomp" in option for option in info.get("SecurityOptions") or []):
        findings.append(
            warned(
                "seccomp",
                "The engine filters no system calls.",
                "Run an engine and a kernel with seccomp; most distributions have both.",
            )
        )
    root = Path(info.get("DockerRootDir", "/var/lib/docker"))
    return [*findings, check_disk("engine disk", root)] if os.access(root, os.R_OK) else findings


def check_image(client: "DockerClient", config: Config) -> list[Finding]:
    from docker.errors import ImageNotFound  # 0.3 s, see docker_engine/connection.py

    wanted, current = image_name(config), current_images(config)
    left_over = [image for image in stored_images(client, current) if image.is_left_over]
    try:
        client.images.get(wanted)
    except ImageNotFound:
        build = f"slipway images build --flavour {config.sandbox_flavour}"
        fix = f"docker pull {wanted}" if config.sandbox_image else build
        if config.sandbox_image:
            return [failed("image", f"{wanted} is not there.", fix, "sandbox_image_missing")]
        return [warned("image", f"{wanted} is not there; the first start has to wait for it.", fix)]
    if unfit := judge_image(client, wanted):
        return [warned("image", unfit.cause, unfit.fix, unfit.code)]
    more = (
        f" {len(left_over)} other images are not used. To remove them: slipway images prune."
        if left_over
        else ""
    )
    return [well("image", f"{wanted} is there.{more}")]


def check_network(client: "DockerClient", config: Config) -> list[Finding]:
    gateway, image = ensure_network(client), image_name(config)
    ports = check_ports(config, [LOOPBACK, gateway])
    if not client.images.list(name=image) or judge_image(client, image):
        return [ports]
    options = {**hardened(config), "network": NETWORK}
    with _as_a_server_would(gateway, config.inner_port) as refusal:
        is_open = is_host_reachable(client, image, options, gateway)
    if is_open:
        cause = "Sandboxes reach services that this machine offers on all of its addresses."
        fix = advice(BRIDGE, gateway, config.inner_port)
        return [ports, warned("network", f"{cause} {refusal}".strip(), fix)]
    return [ports, well("network", "Sandboxes reach neither this machine's services nor any other network.")]


@contextmanager
def _as_a_server_would(gateway: str, port: int) -> Iterator[str]:
    """Sets the packet filter rules that a running app server sets for its sandboxes, and then runs the `with`
    block. So the block can test what a sandbox can reach while an app server runs. Afterwards removes the
    rules, unless they already existed before the block.

    Yields an error text if the rules cannot be set, and an empty text otherwise. `gateway`, `port`: the
    address and the port of the app server that sandboxes may reach.
    """
    try:
        is_served = is_admitted(gateway, port)
        admit_only(BRIDGE, gateway, port)
    except NotFiltered as error:
        yield str(error)
        return
    try:
        yield ""
    finally:
        if not is_served:
            withdraw(gateway, port)


def _check_runtime(client: "DockerClient", config: Config) -> list[Finding]:
    try:
        require_runtime(client, config.sandbox_runtime)
    except StartFailure as failure:
        return [fails_starts("runtime", failure)]
    return [well("runtime", f"{config.sandbox_runtime} is there.")] if config.sandbox_runtime else []


def _check_workspace_size(client: "DockerClient", config: Config) -> Finding:
    volumes, image = Volumes(config), image_name(config)
    if client.images.list(name=image):
        volumes.try_out(client, image)
    limit, reason = volumes.limit, why_impossible()
    if limit.bytes is None:
        cause = "A sandbox can fill the engine's disk: nothing limits its workspace."
        return warned("workspace size", cause, "Unset SLIPWAY_SANDBOX_DISK_BYTES.")
    size = f"{limit.bytes / GIBIBYTE:.1f} GiB"
    if limit.kept_by == "watch":
        return warned(
            "workspace size",
            f"A sandbox is stopped when its workspace holds more than {size}, which is measured now and "
            f"then: it can exceed that for a moment. A separate disk is not possible here: {limit.reason}",
            "Run Slipway as root beside its engine.",
        )
    if reason:
        fix = "Run Slipway as root beside its engine, or unset SLIPWAY_SANDBOX_DISK_BYTES."
        return failed("workspace size", f"Workspaces cannot be limited: {reason}", fix, "sandbox_disk_failed")
    return well("workspace size", f"Each workspace is a separate disk, which holds {size}.")


def _check_limits(info: Mapping[str, Any], config: Config) -> Finding:
    if config.sandbox_cpus > info["NCPU"]:
        return failed(
            "limits",
            f"A sandbox may have {config.sandbox_cpus:g} CPUs, but there are {info['NCPU']}.",
            f"SLIPWAY_SANDBOX_CPUS={info['NCPU']}",
            "sandbox_limits_refused",
        )
    if config.sandbox_memory_bytes > info["MemTotal"]:
        return warned(
            "limits",
            f"A sandbox may have {config.sandbox_memory_bytes / GIBIBYTE:.1f} GiB, more than there is.",
            f"SLIPWAY_SANDBOX_MEMORY_BYTES={info['MemTotal'] // 2}",
        )
    if lacking := [what for flag, what in _LIMITS.items() if not info.get(flag)]:
        return warned(
            "limits",
            f"The engine cannot limit {', '.join(lacking)}.",
            "Boot the kernel with cgroup_enable=memory swapaccount=1, or use cgroup v2.",
        )
    return well("limits", "Memory, processes and CPUs of a sandbox are limited.")
