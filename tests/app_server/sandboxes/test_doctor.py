"""Tests of `slipway doctor`: it finds each problem, and names the cause and the fix."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import NotFound

from app_server.core.config import Config
from app_server.doctor import findings
from app_server.doctor.checks import examine
from app_server.doctor.engine_checks import check_engine
from app_server.doctor.findings import GIBIBYTE, Finding, check_disk
from app_server.doctor.memory_checks import check_memory
from app_server.sandbox_backends.docker.host_reachability import LABEL
from app_server.sandbox_images import definition
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.test_preflight import NO_SHELL, base_image
from tests.support.forking import run_slipway
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image

docker_test = pytest.mark.docker


@pytest.fixture
def image() -> str:
    """Returns the sandbox image. It is built before the test's event loop runs, because the build needs an
    event loop itself.
    """
    return sandbox_image()


@pytest.fixture
def nothing_built(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Changes the name of the image repository, so that no sandbox image of this version is found."""
    monkeypatch.setattr(definition, "REPOSITORY", "slipway-test-not-built")
    definition.image_definition.cache_clear()
    yield
    definition.image_definition.cache_clear()


def config_in(home: Path, **settings: object) -> Config:
    return Config(home=home / "home", inner_port=free_port(), **settings)  # type: ignore[arg-type]


async def findings_of(config: Config) -> dict[str, Finding]:
    return {finding.name: finding async for finding in examine(config)}


def slipway_doctor(home: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return run_slipway(["doctor", "--home", str(home), *options], environment)


@pytest.mark.bubblewrap
async def test_where_processes_work_all_is_well_and_nothing_stays(tmp_path: Path) -> None:
    config = config_in(tmp_path, sandbox="process")
    found = await findings_of(config)

    of_the_machine = ("browser", "vscode", "desktop")
    states = {name: finding.state for name, finding in found.items() if name not in of_the_machine}
    well = ("disk", "git", "bubblewrap", "command namespaces", "network", "ports", "probe sandbox")
    assert states == dict.fromkeys(well, "ok")
    assert "only through the app server: SLIPWAY_EGRESS=allowlist" in found["network"].cause
    assert list((config.home / "sandboxes").iterdir()) == []


async def test_missing_walls_are_a_warning_or_an_error_as_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    hoped = await findings_of(config_in(tmp_path, sandbox="process"))
    demanded = await findings_of(config_in(tmp_path, sandbox="process", process_isolation="bubblewrap"))

    assert hoped["bubblewrap"].state == "warning"
    assert hoped["bubblewrap"].fix == "Install it: apt-get install bubblewrap"
    assert hoped["probe sandbox"].state == "ok"
    assert hoped["git"].state == "error"
    assert (hoped["browser"].state, hoped["browser"].fix) == ("warning", "apt-get install chromium")
    assert (hoped["vscode"].state, hoped["desktop"].state) == ("warning", "warning")
    assert "code-server" in hoped["vscode"].fix
    assert demanded["bubblewrap"].state == demanded["probe sandbox"].state == "error"


async def test_walls_that_are_switched_off_are_a_warning(tmp_path: Path) -> None:
    found = await findings_of(config_in(tmp_path, sandbox="process", process_isolation="none"))

    assert found["bubblewrap"].state in {"ok", "warning"}
    assert ("SLIPWAY_PROCESS_ISOLATION" in found["bubblewrap"].fix) is (
        found["bubblewrap"].state == "warning"
    )


async def test_without_walls_the_network_is_said_to_be_open(tmp_path: Path) -> None:
    found = await findings_of(config_in(tmp_path, sandbox="process", process_isolation="none"))

    assert "command namespaces" not in found
    assert found["network"].state == "warning"
    assert "programs that use http_proxy" in found["network"].cause


@pytest.mark.bubblewrap
async def test_a_machine_that_allows_no_command_namespaces_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bubblewrap = shutil.which("bwrap")
    grudging = tmp_path / "bin" / "bwrap"
    grudging.parent.mkdir()
    # This bwrap gives all requested rights except the right to configure a network.
    grudging.write_text(
        '#!/bin/bash\nwords=()\nfor word; do [ "$word" = CAP_NET_ADMIN ] && word=CAP_CHOWN; '
        f'words+=("$word"); done\nexec {bubblewrap} "${{words[@]}}"\n'
    )
    grudging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{grudging.parent}:{os.environ['PATH']}")
    found = await findings_of(config_in(tmp_path, sandbox="process"))

    assert found["bubblewrap"].state == "ok"
    assert found["command namespaces"].state == found["probe sandbox"].state == "error"
    assert "cannot be kept apart" in found["command namespaces"].cause
    assert "user.max_net_namespaces" in found["command namespaces"].fix


async def test_a_home_that_cannot_be_used_fails_the_probe(tmp_path: Path) -> None:
    config = config_in(tmp_path, sandbox="process")
    config.home.mkdir()
    (config.home / "sandboxes").write_text("a file where a directory ought to be")
    found = await findings_of(config)

    assert found["probe sandbox"].state == "error"
    assert str(config.home) in found["probe sandbox"].cause


def test_a_disk_that_fills_up_warns_and_a_full_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "not" / "yet" / "there"
    states = []
    for spare, needed in ((0, 0), (2**63, 0), (2**63, 2**63)):
        monkeypatch.setattr(findings, "SPARE_BYTES", spare)
        monkeypatch.setattr(findings, "NEEDED_BYTES", needed)
        states.append(check_disk("disk", place).state)

    assert states == ["ok", "warning", "error"]


@pytest.mark.parametrize(("choice", "state"), [("docker", "error"), ("auto", "warning")])
async def test_an_engine_that_is_away(
    choice: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    found = await findings_of(config_in(tmp_path, sandbox=choice))

    assert found["engine"].state == state
    assert "does not answer" in found["engine"].cause
    assert ("probe sandbox" in found) is (choice == "auto"), "a fallback is tried out"


def test_the_command_answers_machines_and_its_exit_code_tells(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "DOCKER_HOST": "tcp://127.0.0.1:9", "SLIPWAY_SANDBOX": "docker"}
    sick = slipway_doctor(tmp_path, "--json", **environment)
    told = slipway_doctor(tmp_path, **environment)
    well = slipway_doctor(tmp_path, **{**environment, "SLIPWAY_SANDBOX": "process"})

    lines = [json.loads(line) for line in sick.stdout.splitlines()]
    assert {"name", "state", "cause", "fix", "code"} == set(lines[0])
    assert [line["name"] for line in lines if line["state"] == "error"] == ["engine"]
    assert (sick.returncode, told.returncode, well.returncode) == (1, 1, 0), well.stdout + well.stderr
    assert "Fix: Start Docker" in told.stdout


@docker_test
@pytest.mark.timeout(600)
async def test_with_docker_all_is_well_and_no_probe_stays_not_even_that_of_a_killed_server(
    image: str, engine: DockerClient, tmp_path: Path
) -> None:
    of_killed_server = engine.containers.create(image, entrypoint=["true"], labels=[LABEL])
    of_killed_server.start()
    of_killed_server.wait()
    found = await findings_of(config_in(tmp_path, sandbox="docker"))
    with closing(DockerClient.from_env(version="auto")) as client:
        # Other tests on this machine also create containers, which disappear after a while.
        left = never_started(client)
        await eventually(lambda: _have_gone(client, left))

    names = ("disk", "git", "bubblewrap", "engine", "limits", "image", "network", "probe sandbox")
    assert {name: found[name].state for name in names} == dict.fromkeys(names, "ok")
    assert found["browser"].state == "warning", "the slim image has none"
    for absent in ("browser", "vscode", "desktop"):
        assert "SLIPWAY_SANDBOX_FLAVOUR=full" in found[absent].fix
    with pytest.raises(NotFound):
        of_killed_server.reload()


def never_started(client: DockerClient) -> set[str]:
    return {
        str(each.id)
        for each in client.containers.list(all=True, ignore_removed=True)
        if each.status == "created"
    }


async def _have_gone(client: DockerClient, containers: set[str]) -> bool:
    return not containers & never_started(client)


@docker_test
@pytest.mark.parametrize(
    ("setting", "is_possible", "state", "code", "words"),
    [
        ({}, True, "ok", None, "20.0 GiB"),
        ({}, False, "warning", None, "not root"),
        ({"sandbox_disk_bytes": 0}, True, "warning", None, "can fill the engine's disk"),
        ({"sandbox_disk_bytes": GIBIBYTE}, True, "ok", None, "1.0 GiB"),
        ({"sandbox_disk_bytes": GIBIBYTE}, False, "error", "sandbox_disk_failed", "not root"),
    ],
)
def test_whether_a_workspace_can_fill_the_disk(
    setting: dict[str, object],
    is_possible: bool,
    state: str,
    code: str | None,
    words: str,
    engine: DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not is_possible:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    config = config_in(tmp_path, sandbox="docker", **setting)
    found = next(each for each in check_engine(engine, config) if each.name == "workspace size")

    assert (found.state, found.code) == (state, code)
    assert words in found.cause
    assert found.fix or state == "ok"


@pytest.mark.parametrize(
    ("engine_says", "setting", "name", "state", "words"),
    [
        ({}, {}, "memory total", "ok", "12.0 GiB"),
        ({}, {"sandbox_memory_total_bytes": 8 * GIBIBYTE}, "memory total", "ok", "8.0 GiB of 8.0 GiB"),
        ({}, {"sandbox_memory_total_bytes": 64 * GIBIBYTE}, "memory total", "warning", "64.0 GiB"),
        ({}, {"sandbox_memory_total_bytes": 2 * GIBIBYTE}, "memory total", "error", "none can start"),
        ({"MemoryLimit": False}, {}, "memory limit", "warning", "all of the machine's"),
        ({"CgroupDriver": "none"}, {}, "memory limit", "warning", "all of the machine's"),
        ({}, {"sandbox_pool": 3}, "warm pool", "ok", "3 containers"),
        ({}, {"sandbox_pool": 1, "sandbox_pools": {"python": 3}}, "warm pool", "ok", "4 containers"),
        ({"MemTotal": 3 * GIBIBYTE}, {"sandbox_pool": 20}, "warm pool", "warning", "room for 9"),
    ],
)
def test_memory_that_is_given_away_is_there(
    engine_says: dict[str, object],
    setting: dict[str, object],
    name: str,
    state: str,
    words: str,
    tmp_path: Path,
) -> None:
    info = {"MemTotal": 8 * GIBIBYTE, "MemoryLimit": True, "CgroupDriver": "systemd", **engine_says}
    config = config_in(tmp_path, sandbox="docker", **setting)
    found = next(each for each in check_memory(info, config) if each.name == name)

    assert found.state == state
    assert words in found.cause
    assert "SLIPWAY_SANDBOX" in found.fix or "cgroup" in found.fix or state == "ok"


async def test_a_pool_for_process_sandboxes_is_a_warning(tmp_path: Path) -> None:
    found = await findings_of(config_in(tmp_path, sandbox="process", sandbox_pool=2))

    assert found["warm pool"].state == "warning"


@docker_test
@pytest.mark.timeout(600)
async def test_a_custom_image_without_a_browser_and_too_much_memory_are_warnings(
    image: str, tmp_path: Path
) -> None:
    settings = {"sandbox_image": image, "sandbox_memory_bytes": 2**60}
    found = await findings_of(config_in(tmp_path, sandbox="docker", **settings))

    assert found["browser"].state == "warning"
    assert image in found["browser"].fix
    assert found["limits"].state == "warning"
    assert "SLIPWAY_SANDBOX_MEMORY_BYTES" in found["limits"].fix
    assert found["probe sandbox"].state == "ok"


@docker_test
@pytest.mark.usefixtures("nothing_built")
async def test_an_image_that_is_not_built_yet_is_named_with_its_flavour(tmp_path: Path) -> None:
    found = await findings_of(config_in(tmp_path, sandbox="docker", sandbox_flavour="full"))

    assert found["image"].state == "warning"
    assert found["image"].fix == "slipway images build --flavour full"
    assert found["base image"].state == "ok"
    assert "probe sandbox" not in found


@docker_test
@pytest.mark.usefixtures("nothing_built")
async def test_a_base_that_does_not_fit_is_named_before_anything_is_built(
    engine: DockerClient, tmp_path: Path
) -> None:
    with base_image(engine, NO_SHELL) as base:
        found = await findings_of(config_in(tmp_path, sandbox="docker", sandbox_base_image=base))

    assert (found["image"].state, found["base image"].state) == ("warning", "error")
    assert "no shell" in found["base image"].cause


@docker_test
@pytest.mark.usefixtures("nothing_built")
async def test_a_base_that_is_built_here_is_not_asked_of_registries(tmp_path: Path) -> None:
    found = await findings_of(
        config_in(tmp_path, sandbox="docker", sandbox_base_image="slipway-base:feedfeedfeed")
    )

    assert (found["base image"].state, found["base image"].code) == ("error", "sandbox_base_missing")
    assert "images build --dockerfile" in found["base image"].fix


@docker_test
@pytest.mark.timeout(600)
async def test_what_the_engine_lacks_is_named(tmp_path: Path) -> None:
    found = await findings_of(
        config_in(
            tmp_path,
            sandbox="docker",
            sandbox_image="nowhere/no-such-image:1",
            sandbox_runtime="no-such-runtime",
            sandbox_cpus=4096,
        )
    )

    assert {name for name, finding in found.items() if finding.state == "error"} == {
        "image",
        "runtime",
        "limits",
    }
    assert found["image"].fix == "docker pull nowhere/no-such-image:1"
    assert "daemon.json" in found["runtime"].fix
    assert found["limits"].fix.startswith("SLIPWAY_SANDBOX_CPUS=")
    assert "probe sandbox" not in found


@docker_test
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("image", "host_left_open")
async def test_a_way_to_the_host_is_a_warning(tmp_path: Path) -> None:
    found = await findings_of(config_in(tmp_path, sandbox="docker"))

    assert found["network"].state == "warning"
    assert "you must be root" in found["network"].cause
    assert "iptables -I INPUT" in found["network"].fix


@docker_test
@pytest.mark.parametrize(
    ("settings", "is_found"),
    [
        ({"sandbox_specs": "everybody"}, True),
        ({"sandbox_specs": "everybody", "sandbox_image": "x:1"}, False),
        ({}, False),
    ],
)
async def test_image_builds_by_all_users_are_a_warning(
    tmp_path: Path, nothing_built: None, settings: dict[str, str], is_found: bool
) -> None:
    found = (await findings_of(config_in(tmp_path, sandbox="docker", **settings))).get("image builds")

    assert (found is not None) is is_found
    if found:
        assert (found.state, "SLIPWAY_SANDBOX_SPECS" in found.fix) == ("warning", True)


async def test_process_sandboxes_have_no_warning_about_image_builds(tmp_path: Path) -> None:
    config = config_in(tmp_path, sandbox="process", sandbox_specs="everybody")

    assert "image builds" not in await findings_of(config)
