"""Checks of the command `slipway doctor` that compare the machine's memory with the memory that the
configuration gives to sandboxes.
"""

from collections.abc import Mapping
from typing import Any

from app_server.core.config import Config
from app_server.doctor.findings import GIBIBYTE, Finding, failed, warned, well
from app_server.sandbox_backends.docker.backend import OVERCOMMIT
from app_server.sandbox_backends.docker.warm_pool import MEMBER_BYTES


def check_memory(info: Mapping[str, Any], config: Config) -> list[Finding]:
    """Checks whether the machine of the Docker engine has enough memory for the configured memory limits of
    sandboxes. If a pool of ready containers is configured, also checks the memory that the pool needs.
    `info`: the engine's description of its machine, in Docker's JSON.
    """
    there, total = int(info["MemTotal"]), config.sandbox_memory_total_bytes
    shared = total or int(OVERCOMMIT * there)
    findings = [_check_total(there, total, config.sandbox_memory_bytes)]
    if not info.get("MemoryLimit") or info.get("CgroupDriver") == "none":
        findings.append(_unenforced())
    size = sum(config.pools.values())
    return [*findings, _check_pool(size, shared, config)] if size else findings


def check_unused_pool(config: Config) -> list[Finding]:
    """Returns a warning if the configuration asks for a pool of ready containers, and an empty list
    otherwise. Must be called only if the configuration runs sandboxes as processes, because a pool has no
    effect then.
    """
    names = {"SLIPWAY_SANDBOX_POOL": config.sandbox_pool, "SLIPWAY_SANDBOX_POOLS": config.sandbox_pools}
    without_effect = " and ".join(name for name, value in names.items() if value)
    if not without_effect:
        return []
    cause = f"{without_effect}: no effect, since only containers are kept ready."
    return [warned("warm pool", cause, f"Unset {without_effect}, or use Docker sandboxes.")]


def _check_total(there: int, total: int | None, each: int) -> Finding:
    if total is None:
        return well("memory total", f"Sandboxes share {_gib(int(OVERCOMMIT * there))}, further ones wait.")
    if total < each:
        return failed(
            "memory total",
            f"All sandboxes together may have {_gib(total)}, but each has {_gib(each)}: none can start.",
            f"SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES={each} at the least, or a smaller "
            "SLIPWAY_SANDBOX_MEMORY_BYTES.",
            "sandbox_larger_than_total",
        )
    if total > OVERCOMMIT * there:
        return warned(
            "memory total",
            f"All sandboxes together may have {_gib(total)}, but the engine's machine has {_gib(there)}: "
            "when they fill it, the kernel ends processes, perhaps this server's.",
            f"Unset SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES ({OVERCOMMIT:g} times the memory then), or set "
            f"{there}, so that no memory is given out twice.",
        )
    return well("memory total", f"Sandboxes share {_gib(total)} of {_gib(there)}, further ones wait.")


def _check_pool(size: int, shared: int, config: Config) -> Finding:
    held = size * MEMBER_BYTES
    room = shared - config.sandbox_memory_bytes
    if held > room:
        fits = max(0, room // MEMBER_BYTES)
        return warned(
            "warm pool",
            f"{size} containers that are kept ready hold up to {_gib(held)}; beside one sandbox there is "
            f"room for {fits}.",
            f"At most {fits} in SLIPWAY_SANDBOX_POOL and SLIPWAY_SANDBOX_POOLS together, or a smaller "
            "SLIPWAY_SANDBOX_MEMORY_BYTES.",
        )
    return well("warm pool", f"{size} containers are kept ready; they hold up to {_gib(held)}.")


def _unenforced() -> Finding:
    return warned(
        "memory limit",
        "The engine does not enforce the memory limit of sandboxes: one of them can use up all of the "
        "machine's memory.",
        "Boot the kernel with cgroup_enable=memory swapaccount=1, or use cgroup v2; where the engine runs "
        "rootless, have systemd delegate the memory controller to its user.",
    )


def _gib(size: int) -> str:
    return f"{size / GIBIBYTE:.1f} GiB"
