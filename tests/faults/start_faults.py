"""Faults that can make the start of a conversation fail. Each is caused for real: in engine, image or
machine.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from docker import DockerClient

from app_server import demo
from app_server.core.errors import StartCode
from app_server.sandbox_backends.docker.network import NETWORK
from tests.support.engine_proxy import EngineProxy
from tests.support.sandbox_image import sandbox_image
from tests.support.tiny_image import derived_image, tiny_image
from tests.support.web_site import web_site

LIMIT_SECONDS = 0.5
MEBIBYTE = 1024**2
NOWHERE = "127.0.0.1:9/nowhere/no-such-image:1"


@dataclass
class Place:
    """The surroundings in which a fault is caused. `settings`: the settings of the app server.

    `request`: further fields of the request that starts the conversation.
    """

    folder: Path
    engine: DockerClient
    patch: pytest.MonkeyPatch
    conversation_id: UUID = field(default_factory=uuid4)
    settings: dict[str, Any] = field(default_factory=lambda: {"sandbox": "docker"})
    request: dict[str, Any] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def container_name(self) -> str:
        return f"slipway-sandbox-{self.conversation_id.hex}"

    def remove_machine(self) -> None:
        """Removes the sandbox's container directly, because the app server cannot reach its engine."""
        for container in self.engine.containers.list(all=True, filters={"name": self.container_name}):
            container.remove(force=True)

    def put_first(self, program: str, script: str) -> None:
        """Puts a program of this name first in PATH. `script`: the shell script that it runs."""
        path = self.folder / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        self.patch.setenv("PATH", str(path.parent), prepend=":")


Bring = Callable[[Place], AbstractContextManager[object]]


@dataclass(frozen=True)
class Fault:
    """A fault and what the app server must report. `bring` causes the fault.

    `code`: the code of the error. `cause`, `fix`: texts that its cause and fix contain. `doctor`: the name of
    the finding with which `slipway doctor` reports the fault; None if it cannot be seen before a start.
    """

    bring: Bring
    code: StartCode
    cause: str
    fix: str
    doctor: str | None = None

    @property
    def name(self) -> str:
        return self.bring.__name__


@contextmanager
def behind_proxy(place: Place) -> Iterator[EngineProxy]:
    with EngineProxy(place.folder / "engine.sock") as proxy:
        place.patch.setenv("DOCKER_HOST", proxy.url)
        yield proxy


def engine_away(place: Place) -> AbstractContextManager[object]:
    place.patch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    return nullcontext()


@contextmanager
def engine_silent(place: Place) -> Iterator[None]:
    with behind_proxy(place) as proxy:
        proxy.silent.set()
        yield


@contextmanager
def engine_dies_amid(place: Place) -> Iterator[None]:
    with behind_proxy(place) as proxy:
        proxy.die_at("POST /containers/create")
        yield


@contextmanager
def engine_disk_full(place: Place) -> Iterator[None]:
    with behind_proxy(place) as proxy:
        proxy.answer("POST /containers/create", 500, "mkdir /var/lib/docker/x: no space left on device")
        yield


@contextmanager
def network_of_others(place: Place) -> Iterator[None]:
    open_to_all = {"Name": NETWORK, "Id": "1", "Driver": "bridge", "Internal": False, "Options": {}}
    open_to_all["IPAM"] = {"Config": [{"Gateway": "127.0.0.1"}]}
    with behind_proxy(place) as proxy:
        proxy.answer_with(f"GET /networks/{NETWORK}", 200, open_to_all)
        yield


@contextmanager
def no_subnet_left(place: Place) -> Iterator[None]:
    with behind_proxy(place) as proxy:
        proxy.answer(f"GET /networks/{NETWORK}", 404, f"network {NETWORK} not found")
        proxy.answer(
            "POST /networks/create",
            500,
            "could not find an available, non-overlapping IPv4 address pool among the defaults",
        )
        yield


@contextmanager
def name_taken(place: Place) -> Iterator[None]:
    """Another program makes a container of the same name right before the app server does."""

    def be_faster() -> None:
        place.engine.containers.create(sandbox_image(), name=place.container_name)

    with behind_proxy(place) as proxy:
        # Only for this name: the app server also makes other containers, to test the options of the sandbox.
        proxy.on(rf"POST /containers/create\?name={place.container_name} ", be_faster)
        yield


def image_missing(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_image"] = NOWHERE
    return nullcontext()


def base_missing(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_base_image"] = NOWHERE
    return nullcontext()


@contextmanager
def base_without_a_shell(place: Place) -> Iterator[None]:
    with tiny_image(place.engine) as base:
        place.settings["sandbox_base_image"] = base
        yield


@contextmanager
def base_of_another_architecture(place: Place) -> Iterator[None]:
    with tiny_image(place.engine, architecture="s390x") as base:
        place.settings["sandbox_base_image"] = base
        yield


@contextmanager
def image_without_a_command(place: Place) -> Iterator[None]:
    with tiny_image(place.engine) as image:
        place.settings["sandbox_image"] = image
        yield


@contextmanager
def image_of_something_else(place: Place) -> Iterator[None]:
    with derived_image(place.engine, sandbox_image(), 'ENTRYPOINT ["/bin/true"]') as image:
        place.settings["sandbox_image"] = image
        yield


@contextmanager
def image_of_another_architecture(place: Place) -> Iterator[None]:
    machine_code = {"opt/slipway/bin/entrypoint": b"\x7fELF\x02\x02\x01" + bytes(57)}
    entrypoint = ["/opt/slipway/bin/entrypoint"]
    with tiny_image(place.engine, files=machine_code, entrypoint=entrypoint, architecture="s390x") as image:
        place.settings["sandbox_image"] = image
        yield


@contextmanager
def _server_that(place: Place, does: str) -> Iterator[None]:
    """Makes the start use an image whose agent server runs this shell command instead."""
    command = ["/bin/sh", "-c", does, "/opt/slipway/bin/entrypoint"]
    with derived_image(place.engine, sandbox_image(), f"ENTRYPOINT {json.dumps(command)}") as image:
        place.settings["sandbox_image"] = image
        yield


def server_crashes_at_once(place: Place) -> AbstractContextManager[object]:
    return _server_that(place, "echo the crane fell; exit 3")


def server_never_answers(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_start_timeout_seconds"] = LIMIT_SECONDS
    return _server_that(place, "exec sleep 600")


def server_needs_too_much_memory(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_memory_bytes"] = 256 * MEBIBYTE
    # `tail` keeps the whole last line in memory, and this line never ends.
    return _server_that(place, "exec tail /dev/zero")


def runtime_unknown(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_runtime"] = "no-such-runtime"
    return nullcontext()


def more_processors_than_there_are(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_cpus"] = 4096
    return nullcontext()


def workspace_corrupt(place: Place) -> AbstractContextManager[object]:
    disks = place.home / "disks"
    disks.mkdir(parents=True)
    (disks / f"{place.container_name}.ext4").write_bytes(os.urandom(MEBIBYTE))
    return nullcontext()


def disk_cannot_be_made(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox_disk_bytes"] = 256 * MEBIBYTE
    place.put_first("mkfs.ext4", "echo no such file system here >&2; exit 1")
    return nullcontext()


def walls_broken(place: Place) -> AbstractContextManager[object]:
    place.settings.update(sandbox="process", process_isolation="bubblewrap")
    place.put_first("bwrap", "echo no namespaces for you >&2; exit 1")
    return nullcontext()


def home_unusable(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox"] = "process"
    obstacle = place.home / "sandboxes" / place.conversation_id.hex / "workspace"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("a file where a directory ought to be")
    return nullcontext()


def repository_host_away(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox"] = "process"
    place.request["selected_repository"] = "http://127.0.0.1:9/harbour.git"
    return nullcontext()


@contextmanager
def repository_not_on_its_host(place: Place) -> Iterator[None]:
    place.settings["sandbox"] = "process"
    with web_site() as site:
        place.request["selected_repository"] = f"{site.url}/harbour.git"
        yield


def branch_absent(place: Place) -> AbstractContextManager[object]:
    place.settings["sandbox"] = "process"
    place.request["selected_repository"] = str(demo.make_repository(place.folder / "user"))
    place.request["selected_branch"] = "no-such-branch"
    return nullcontext()


FAULTS = (
    Fault(engine_away, "docker_unavailable", "does not answer", "Start Docker", "engine"),
    Fault(engine_silent, "docker_unavailable", "timed out", "Start Docker", "engine"),
    Fault(engine_dies_amid, "docker_unavailable", "does not answer", "Start Docker"),
    Fault(engine_disk_full, "engine_disk_full", "disk of the Docker engine", "slipway images prune"),
    Fault(network_of_others, "sandbox_network_foreign", NETWORK, f"docker network rm {NETWORK}", "network"),
    Fault(no_subnet_left, "sandbox_network_exhausted", "no address left", "docker network prune", "network"),
    Fault(name_taken, "sandbox_name_taken", "has the name", "docker rm -f"),
    Fault(image_missing, "sandbox_image_missing", NOWHERE, f"docker pull {NOWHERE}", "image"),
    Fault(base_missing, "sandbox_base_missing", NOWHERE, "docker load", "base image"),
    Fault(base_without_a_shell, "sandbox_base_no_shell", "no shell", "Debian 12", "base image"),
    Fault(
        base_of_another_architecture,
        "sandbox_base_wrong_architecture",
        "linux/s390x",
        "docker pull --platform",
        "base image",
    ),
    Fault(
        image_without_a_command,
        "sandbox_image_wrong",
        "no agent server",
        "SLIPWAY_SANDBOX_IMAGE",
        "image",
    ),
    Fault(
        image_of_something_else,
        "sandbox_image_wrong",
        "does not start an agent server",
        "SLIPWAY_SANDBOX_IMAGE",
        "image",
    ),
    Fault(
        image_of_another_architecture,
        "sandbox_image_wrong_architecture",
        "another kind of processor",
        "SLIPWAY_SANDBOX_IMAGE",
        "image",
    ),
    Fault(server_crashes_at_once, "agent_server_ended", "exit status 3", "output", "probe sandbox"),
    Fault(
        server_never_answers,
        "sandbox_start_timeout",
        f"{LIMIT_SECONDS:g} seconds",
        "SLIPWAY_SANDBOX_START_TIMEOUT_SECONDS",
        "probe sandbox",
    ),
    Fault(
        server_needs_too_much_memory,
        "sandbox_out_of_memory",
        "out of memory",
        "SLIPWAY_SANDBOX_MEMORY_BYTES",
        "probe sandbox",
    ),
    Fault(runtime_unknown, "sandbox_runtime_missing", "no-such-runtime", "daemon.json", "runtime"),
    Fault(
        more_processors_than_there_are,
        "sandbox_limits_refused",
        "limits that are set",
        "SLIPWAY_SANDBOX_CPUS",
        "limits",
    ),
    Fault(workspace_corrupt, "sandbox_workspace_broken", "cannot be mounted", "fsck.ext4"),
    Fault(
        disk_cannot_be_made,
        "sandbox_disk_failed",
        "no such file system here",
        "SLIPWAY_SANDBOX_DISK_BYTES",
        "probe sandbox",
    ),
    Fault(walls_broken, "bubblewrap_unavailable", "no namespaces for you", "bubblewrap 0.8", "bubblewrap"),
    Fault(home_unusable, "sandbox_home_unusable", "could not be started", "directory of this user's"),
    Fault(repository_host_away, "repository_clone_failed", "could not be cloned", "git's output"),
    Fault(repository_not_on_its_host, "repository_not_found", "harbour.git", "Check the address"),
    Fault(branch_absent, "branch_not_found", "no branch 'no-such-branch'", "one of these branches"),
)
