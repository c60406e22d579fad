"""Converts the error texts of the Docker engine to StartFailure, which explains them to users. The errors of
the engine have no codes, so each error is recognized by parts of its text.
"""

from dataclasses import dataclass

from app_server.core.errors import StartCode, StartFailure


@dataclass(frozen=True)
class _Meaning:
    """One kind of error of the Docker engine, with the code, the cause and the fix that Slipway shows to
    users.

    `signs`: texts in lower case. An error is of this kind if its text contains one of these texts. The texts
    come from Docker 20.10 to 28.
    """

    signs: tuple[str, ...]
    code: StartCode
    cause: str
    fix: str


# The first meaning that fits is used. A full disk comes first, because it also causes many other refusals.
_MEANINGS = (
    _Meaning(
        ("no space left on device", "disk quota exceeded"),
        "engine_disk_full",
        "The disk of the Docker engine is full.",
        "Free some room there; `slipway images prune` and `docker builder prune` may help. Then retry.",
    ),
    _Meaning(
        (
            "range of cpus is",
            "memory limit allowed is",
            "memory limit should be",
            "pids limit",
            "memory.limit_in_bytes",
            "memory.max",
        ),
        "sandbox_limits_refused",
        "The Docker engine cannot give a sandbox the limits that are set.",
        "Change SLIPWAY_SANDBOX_CPUS, SLIPWAY_SANDBOX_MEMORY_BYTES or SLIPWAY_SANDBOX_PIDS.",
    ),
    _Meaning(
        ("non-overlapping ipv4 address pool", "address pools have been fully subnetted", "no available ipv4"),
        "sandbox_network_exhausted",
        "The Docker engine has no address left for the sandboxes' network.",
        "Remove networks that are not used (`docker network prune`) or sandboxes that sleep, or widen "
        "`default-address-pools` in /etc/docker/daemon.json.",
    ),
    _Meaning(
        ("networks have same bridge name",),
        "sandbox_network_foreign",
        "Another network of the Docker engine has the bridge of the sandboxes.",
        "Remove that network (`docker network rm`), then retry.",
    ),
    _Meaning(
        ("is already in use by container", "marked for removal", "removal of container"),
        "sandbox_name_taken",
        "Another container, or one that is still being removed, has the name of the sandbox's container.",
        "Retry; if it persists, remove that container: docker rm -f NAME",
    ),
    _Meaning(
        ("failed to mount local volume", "error while mounting volume", "read-only file system"),
        "sandbox_workspace_broken",
        "The sandbox's workspace cannot be mounted.",
        "Repair its file system (`fsck.ext4 -f` if it lies under SLIPWAY_HOME/disks), then retry.",
    ),
    _Meaning(
        (
            "no command specified",
            "executable file not found",
            "exec format error",
            "no such file or directory: unknown",
        ),
        "sandbox_image_wrong",
        "The sandbox image has no agent server that can be started.",
        "Set SLIPWAY_SANDBOX_IMAGE to an image that is based on Slipway's, or unset it to have one built.",
    ),
    _Meaning(
        ("unknown runtime", "invalid runtime name"),
        "sandbox_runtime_missing",
        "The Docker engine does not have the runtime that is set.",
        "Install it and name it in /etc/docker/daemon.json (`runtimes`), or change SLIPWAY_SANDBOX_RUNTIME.",
    ),
)


def explain(refusal: str) -> StartFailure:
    """Returns the StartFailure that explains an error of the Docker engine to users. `refusal`: the error
    text of the engine.
    """
    said = refusal.lower()
    for meaning in _MEANINGS:
        if any(sign in said for sign in meaning.signs):
            return StartFailure(meaning.code, meaning.cause, fix=meaning.fix, output=refusal)
    return StartFailure(
        "sandbox_start_failed",
        f"The Docker engine refused: {refusal}",
        fix="Retry the start; if it persists, read the log of the Docker engine.",
    )
