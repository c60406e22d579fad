"""The Docker options that isolate every container of Slipway. A container gets as few privileges as possible,
and a limit on every resource.
"""

from typing import TYPE_CHECKING, Any

from app_server.core.config import Config
from app_server.core.errors import StartFailure

if TYPE_CHECKING:
    from docker import DockerClient

AGENT_UID = 10001
"""The user id of the agent's processes and files. The agent server has the user id 10000, which the image's
entrypoint sets.
"""
USERS_LABEL = "slipway.users"
"""The name of a label of sandbox images. The label has the value `two` if the agent server and the agent run
as different users.
"""
HOME_LABEL = "slipway.home"
"""The name of a label of sandbox images.

The label has the value `workspace` if the home directory and /tmp are in the workspace. For every other
image, each of these directories is a tmpfs (a folder in memory).
"""

_TMPFS = f"uid={AGENT_UID},gid={AGENT_UID},nosuid,nodev"
SPARE_TMP = {"/var/tmp": f"{_TMPFS},exec,mode=1777,size=32m"}  # noqa: S108 (inside the container)
"""The tmpfs mount (a folder in memory) at /var/tmp, for images whose /tmp is in the workspace. The agent
server can store temporary files in /var/tmp even if the workspace is full.
"""


def hardened(config: Config) -> dict[str, Any]:
    """Returns the keyword arguments of the Docker SDK's `containers.create` that every container of Slipway
    gets. The default seccomp profile of the Docker engine applies too.
    """
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
        # Without a limit, the log of the first process could fill the host's disk.
        "log_config": LogConfig(type="local", config={"max-size": "10m", "max-file": "2"}),
        **({"runtime": config.sandbox_runtime} if config.sandbox_runtime else {}),
    }


def two_users() -> dict[str, Any]:
    """Returns the additional keyword arguments of the Docker SDK's `containers.create` for an image that runs
    the agent server and the agent as different users. The caller adds these arguments to the result of
    `hardened`.

    The container starts as root and prepares the workspace. Then the agent server and the agent change to two
    different operating system users and give up all privileges. Only the container's first process keeps its
    privileges, because it must send signals to the processes of both users. Commands of the agent cannot get
    any privileges.
    """
    return {
        "user": "0",
        "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"],
    }


def require_runtime(client: "DockerClient", name: str | None) -> None:
    """Raises StartFailure `sandbox_runtime_missing` if the Docker engine has no container runtime with this
    name (such as gVisor's `runsc`). Does nothing if `name` is None.
    """
    known = sorted(client.info().get("Runtimes", {})) if name else []
    if name and name not in known:
        raise StartFailure(
            "sandbox_runtime_missing",
            f"The Docker engine has no runtime called {name}; it has {', '.join(known)}.",
            fix=f"Install {name} and name it in /etc/docker/daemon.json (`runtimes`), or change "
            "SLIPWAY_SANDBOX_RUNTIME.",
        )
