"""What every container of ours is run with: nothing it does not need, and a limit on all that it gets."""

from typing import TYPE_CHECKING, Any

from app_server.core.config import Config
from app_server.core.errors import StartFailure

if TYPE_CHECKING:
    from docker import DockerClient

AGENT_UID = 10001
"""Of all that runs for the agent, and of its files. The agent server's own is in the entrypoint: 10000."""
USERS_LABEL = "slipway.users"
"""Of images: `two` where the agent server and the agent are different users."""
HOME_LABEL = "slipway.home"
"""Of images: `workspace` where home and /tmp lie in the workspace. Others get memory for both."""

_TMPFS = f"uid={AGENT_UID},gid={AGENT_UID},nosuid,nodev"
SPARE_TMP = {"/var/tmp": f"{_TMPFS},exec,mode=1777,size=32m"}  # noqa: S108 (inside the container)
"""Where the agent server finds room when the workspace, and /tmp with it, is full."""


def hardened(config: Config) -> dict[str, Any]:
    """Keyword arguments for `containers.create`. The engine's default seccomp profile stays in force."""
    from docker.types import LogConfig  # 0.3 s, see docker_engine/connection.py

    return {
        "hostname": "sandbox",
        "user": str(AGENT_UID),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "tmpfs": {
            "/tmp": f"{_TMPFS},exec,mode=1777,size=512m",  # noqa: S108 (inside the container)
            "/home/agent": f"{_TMPFS},exec,mode=700,size=512m",
        },
        "mem_limit": config.sandbox_memory_bytes,
        "memswap_limit": config.sandbox_memory_bytes,
        "nano_cpus": int(config.sandbox_cpus * 1e9),
        "pids_limit": config.sandbox_pids,
        # What the first process writes would fill the host's disk.
        "log_config": LogConfig(type="local", config={"max-size": "10m", "max-file": "2"}),
        **({"runtime": config.sandbox_runtime} if config.sandbox_runtime else {}),
    }


def two_users() -> dict[str, Any]:
    """What a container needs beside `hardened` whose image keeps the agent server and the agent apart.

    For its first moment alone: it takes the workspace over, becomes two users, and has no privilege left. The
    first process keeps them, to pass signals on. Commands can have none of these.
    """
    return {
        "user": "0",
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"],
    }


def require_runtime(client: "DockerClient", name: str | None) -> None:
    """Raises StartFailure `sandbox_runtime_missing` when the engine does not know a runtime of this name."""
    known = sorted(client.info().get("Runtimes", {})) if name else []
    if name and name not in known:
        raise StartFailure(
            "sandbox_runtime_missing",
            f"The Docker engine has no runtime called {name}; it has {', '.join(known)}.",
            fix=f"Install {name} and name it in /etc/docker/daemon.json (`runtimes`), or change "
            "SLIPWAY_SANDBOX_RUNTIME.",
        )
