"""Operations on the Docker containers and volumes of sandboxes. The functions find containers and volumes by
name. All functions block the thread and raise the errors of the Docker engine.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.backend import LastWords, MachineState
from app_server.sandbox_backends.docker.hardening import (
    AGENT_UID,
    HOME_LABEL,
    SPARE_TMP,
    USERS_LABEL,
    hardened,
    two_users,
)
from app_server.sandbox_backends.docker.network import NETWORK
from app_server.sandbox_backends.folder_size import measured, measuring
from app_server.sandbox_images.validation import judge_ended

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

LABEL = "slipway.sandbox"
_NAME_PREFIX = "slipway-sandbox-"
AGENT_PORT = 8000
WORKSPACE = "/workspace"
SESSION_KEY_FILE = ".session-key"
INIT_KEY_FILE = ".init-key"
STOP_SECONDS = 3
REMOVAL_SECONDS = 60
LOG_LINES = 60
_STATES: Mapping[str, MachineState] = {"running": "running", "paused": "halted"}


def name_of(sandbox_id: UUID) -> str:
    """Returns the name of the Docker container in which the sandbox with this id runs."""
    return f"{_NAME_PREFIX}{sandbox_id.hex}"


def sandboxes_of(names: Iterable[str]) -> dict[UUID, str]:
    """Returns the ids of the sandboxes that these container names belong to, each with the name of its
    container. Ignores other names.
    """
    return {UUID(name.removeprefix(_NAME_PREFIX)): name for name in names if name.startswith(_NAME_PREFIX)}


def image_id(client: "DockerClient", name: str) -> str | None:
    """Returns the Docker engine's id of the image with this name. Returns None if there is no such image."""
    from docker.errors import ImageNotFound

    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return None


def walls(client: "DockerClient", image: str, config: Config) -> dict[str, Any]:
    """Returns those keyword arguments of the Docker SDK's `containers.create` that isolate a sandbox from
    this host. `image`: the image of the sandbox.

    Two labels of the image change the arguments. USERS_LABEL: the agent server and the agent run as different
    users, so the container starts as root. HOME_LABEL: the home directory and /tmp are in the workspace, so
    only /var/tmp is a folder in memory.
    """
    labels = client.images.get(image).labels or {}
    found = {**hardened(config), **(two_users() if labels.get(USERS_LABEL) == "two" else {})}
    if labels.get(HOME_LABEL) == "workspace":
        found["tmpfs"] = SPARE_TMP
    return found


def has_volume(client: "DockerClient", name: str) -> bool:
    from docker.errors import NotFound

    try:
        client.volumes.get(name)
    except NotFound:
        return False
    return True


def find(client: "DockerClient", name: str) -> "Container | None":
    from docker.errors import NotFound

    try:
        return client.containers.get(name)
    except NotFound:
        return None


def start(container: "Container", key_file: str, key: str) -> None:
    """Starts the container, or resumes it if it is paused. `key`: the session key, with which the sandbox and
    the app server authenticate to each other.

    Before a start, writes `key` into the file `key_file` of the workspace. The container's first program
    reads this file and deletes it before any command of the agent runs. The key is not an environment
    variable, because every process in the container could read it then (/proc/1/environ).
    """
    if container.status == "paused":
        container.unpause()
        return
    container.put_archive(WORKSPACE, _key_archive(key_file, key))
    container.start()


def address(container: "Container") -> str:
    """Returns the container's current address on the sandboxes' network. Raises StartFailure if the container
    has ended.
    """
    container.reload()
    found = container.attrs["NetworkSettings"]["Networks"].get(NETWORK, {}).get("IPAddress")
    if not found:
        words = words_of(container)
        raise StartFailure(words.code, words.cause, fix=words.fix, output=words.output)
    return str(found)


def names(client: "DockerClient", status: str) -> set[str]:
    """Returns the names of all Slipway containers with this Docker status. Includes containers of other
    Slipway installations.
    """
    # sparse: one call, without an inspection of each.
    found = client.containers.list(filters={"label": LABEL, "status": status}, sparse=True)
    return {name.removeprefix("/") for container in found for name in container.attrs["Names"]}


def volumes_in_use(client: "DockerClient") -> set[str]:
    """Returns the names of the Docker volumes that running and paused containers use. Includes containers of
    other programs.
    """
    found = client.containers.list(filters={"status": ["running", "paused", "restarting"]}, sparse=True)
    return {mount["Name"] for container in found for mount in container.attrs["Mounts"] if "Name" in mount}


def measure(client: "DockerClient", name: str) -> int | None:
    """Returns the size in bytes of the workspace in the container with this name.

    Returns None if the container does not run, or if the measurement takes too long.
    """
    container = find(client, name)
    if container is None or container.status != "running":
        return None
    found = container.exec_run(measuring(WORKSPACE), user=str(AGENT_UID), stderr=False)
    assert isinstance(found.output, bytes)
    return measured(found.output.decode(errors="replace")) if found.exit_code in {0, 1} else None


def states(client: "DockerClient") -> dict[str, MachineState]:
    """Returns the state of each Slipway container, by container name: running, halted (paused) or stopped.
    Includes containers that have ended.
    """
    found = client.containers.list(all=True, filters={"label": LABEL}, sparse=True)
    return {
        name.removeprefix("/"): _STATES.get(str(container.attrs["State"]), "stopped")
        for container in found
        for name in container.attrs["Names"]
    }


def last_words(client: "DockerClient", name: str) -> LastWords:
    container = find(client, name)
    if container is None:
        return LastWords(cause="The sandbox's container is gone.", output="", fix="Start a new conversation.")
    return words_of(container)


def words_of(container: "Container") -> LastWords:
    state = container.attrs["State"]
    output = container.logs(tail=LOG_LINES).decode(errors="replace")
    if state.get("OOMKilled"):
        return LastWords(
            code="sandbox_out_of_memory",
            cause="The sandbox ran out of memory and was ended.",
            output=output,
            fix="Give sandboxes more memory: SLIPWAY_SANDBOX_MEMORY_BYTES.",
        )
    if state.get("Running"):
        return LastWords(cause="The container runs, but its agent server does not answer.", output=output)
    reason = state.get("Error") or f"exit status {state.get('ExitCode')}"
    if unfit := judge_ended(container.attrs["Config"], output):
        return LastWords(code=unfit.code, cause=f"{unfit.cause} ({reason})", output=output, fix=unfit.fix)
    return LastWords(
        code="agent_server_ended", cause=f"The sandbox's agent server ended ({reason}).", output=output
    )


def freeze(client: "DockerClient", name: str) -> None:
    container = find(client, name)
    if container and container.status == "running":
        container.pause()


@contextmanager
def halted(client: "DockerClient", name: str) -> Iterator[None]:
    """Pauses the container with this name while the `with` block runs. Does nothing if the container does not
    run.
    """
    container = find(client, name)
    if container is None or container.status != "running":
        yield
        return
    container.pause()
    try:
        yield
    finally:
        container.unpause()


def stop(client: "DockerClient", name: str) -> None:
    if container := find(client, name):
        if container.status == "paused":
            container.unpause()  # a halted process hears no signal, and could not end in order
        container.stop(timeout=STOP_SECONDS)


def delete(client: "DockerClient", name: str, volume: str) -> None:
    from docker.errors import NotFound

    if container := find(client, name):
        remove(container)
    try:
        client.volumes.get(volume).remove()
    except NotFound:
        return


def remove_labelled(client: "DockerClient", label: str, value: str) -> None:
    for container in client.containers.list(all=True, filters={"label": f"{label}={value}"}, sparse=True):
        remove(container)


def remove(container: "Container") -> None:
    """Removes the container and waits until the removal is complete. It is no error if another app server or
    the Docker engine is removing the container at the same time.
    """
    from docker.errors import APIError, NotFound

    try:
        try:
            container.remove(force=True)
        except APIError as error:
            if error.status_code != httpx.codes.CONFLICT or "already in progress" not in str(error):
                raise
            container.wait(condition="removed", timeout=REMOVAL_SECONDS)
    except NotFound:
        return


def _key_archive(name: str, key: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.uid, member.gid = len(key), 0o400, AGENT_UID, AGENT_UID
        tar.addfile(member, io.BytesIO(key.encode()))
    return buffer.getvalue()
