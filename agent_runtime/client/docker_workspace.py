"""A workspace in a container that runs an agent server. The container is removed when the program no longer
needs it.
"""

import atexit
import io
import json
import secrets
import tarfile
import time
from collections.abc import Mapping
from typing import Any

import httpx

from agent_runtime.client.docker_cli import Docker
from agent_runtime.client.errors import WorkspaceError
from agent_runtime.client.remote_workspace import RemoteWorkspace

AGENT_PORT = 8000
AGENT_UID = 10001
WORKSPACE = "/workspace"
SESSION_KEY_FILE = ".session-key"
LABEL = "slipway.library"
CHECK_SECONDS = 0.1


class DockerWorkspace(RemoteWorkspace):
    """A RemoteWorkspace in a container on this machine. `close`, or the end of the program, removes the
    container with all its files.

    The container has no privileges and limited resources, but it can reach the network, because the agent in
    the container calls a model. A model server on this machine can be reached from the container as
    `host.docker.internal`.
    """

    def __init__(
        self,
        image: str,
        *,
        working_dir: str = f"{WORKSPACE}/project",
        memory_bytes: int = 4 * 1024**3,
        cpus: float = 2.0,
        pids: int = 1024,
        volumes: Mapping[str, str] | None = None,
        network: str | None = None,
        start_timeout: float = 120.0,
        docker: str = "docker",
    ) -> None:
        """Starts a container and waits until its agent server answers.

        `image`: an image that `slipway images build` has built, or an image based on such an image.
        `working_dir`: the agent's directory in the container. `memory_bytes`, `cpus`, `pids`: the limits of
        the container: its memory, the number of processors, and the number of processes and threads.
        `volumes`: maps directories of this machine to directories in the container. `network`: a network of
        Docker; None means Docker's default network. `start_timeout`: how many seconds the agent server may
        take to answer. `docker`: the name of the docker command.

        Raises WorkspaceError `docker_unavailable` if no Docker engine answers. Raises WorkspaceError
        `sandbox_image_missing` if the engine does not have the image. Raises WorkspaceError
        `sandbox_start_failed` if the container fails. Raises WorkspaceError `sandbox_start_timeout` if its
        agent server does not answer in time. The last two errors contain the last lines of the container's
        output.
        """
        self._docker = Docker(docker)
        self._docker.check(image)
        limits = ["--memory", str(memory_bytes), "--memory-swap", str(memory_bytes)]
        limits += ["--cpus", str(cpus), "--pids-limit", str(pids)]
        mounts = [f"--volume={here}:{there}" for here, there in (volumes or {}).items()]
        joined = [] if network is None else ["--network", network]
        self.container_id = self._docker.run("create", *_HARDENED, *limits, *mounts, *joined, image)
        # Or else a program that forgets to close it would leave it running.
        atexit.register(self.close)
        key = secrets.token_urlsafe(32)
        try:
            self._docker.run("cp", "-", f"{self.container_id}:{WORKSPACE}", stdin=_key_archive(key))
            self._docker.run("start", self.container_id)
            super().__init__(self._address(), api_key=key, working_dir=working_dir)
            self._wait_until_alive(start_timeout)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Removes the container with all its files. May be called twice."""
        atexit.unregister(self.close)
        if getattr(self, "_http", None) is not None:
            super().close()
        if self.container_id:
            self._docker.run("rm", "--force", "--volumes", self.container_id)
            self.container_id = ""

    def _address(self) -> str:
        ports = self._inspect("{{json .NetworkSettings.Ports}}").get(f"{AGENT_PORT}/tcp")
        if not ports:  # it has ended already
            raise self._start_failed()
        return f"http://127.0.0.1:{ports[0]['HostPort']}"

    def _wait_until_alive(self, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        while not self._answers():
            if not self._inspect("{{json .State}}")["Running"]:
                raise self._start_failed()
            if time.monotonic() > deadline:
                raise WorkspaceError(
                    "sandbox_start_timeout",
                    f"The container runs, but its agent server did not answer in {timeout_seconds:g} s.",
                    "Read its last output; give it a longer `start_timeout` if the machine is busy.",
                    output=self._docker.logs(self.container_id),
                )
            time.sleep(CHECK_SECONDS)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.host}/health", timeout=1).is_success
        except httpx.TransportError:
            return False

    def _inspect(self, wanted: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._docker.run("inspect", "--format", wanted, self.container_id))
        return found

    def _start_failed(self) -> WorkspaceError:
        state = self._inspect("{{json .State}}")
        reason = "out of memory" if state.get("OOMKilled") else f"exit status {state.get('ExitCode')}"
        return WorkspaceError(
            "sandbox_start_failed",
            f"The container ended before its agent server answered ({reason}).",
            "Read its last output; the image must start an agent server on port 8000 (containers/README.md).",
            output=self._docker.logs(self.container_id),
        )


# The same options as for the app server's sandboxes, except for the network: the app server brokers the
# model's calls, and here the container makes them itself.
_HARDENED = (
    f"--label={LABEL}",
    f"--user={AGENT_UID}",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--read-only",
    f"--tmpfs=/var/tmp:uid={AGENT_UID},gid={AGENT_UID},nosuid,nodev,exec,mode=1777,size=32m",
    f"--volume={WORKSPACE}",
    f"--publish=127.0.0.1::{AGENT_PORT}",
    "--add-host=host.docker.internal:host-gateway",
    "--log-driver=local",
    "--log-opt=max-size=10m",
)


def _key_archive(key: str) -> bytes:
    """Returns a tar archive with a file that contains `key`, the session key that clients of the container's
    agent server must send. The container's entrypoint reads this file and removes it.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(SESSION_KEY_FILE)
        member.size, member.mode, member.uid, member.gid = len(key), 0o400, AGENT_UID, AGENT_UID
        tar.addfile(member, io.BytesIO(key.encode()))
    return buffer.getvalue()
