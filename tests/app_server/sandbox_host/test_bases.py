"""Tests of base images that users choose, at a sandbox host: the host checks them, and its Docker engine
builds them or refuses them.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import docker
import httpx
import pytest
from docker import DockerClient

from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_images.build_context import MAX_TAR_BYTES, read_packed
from app_server.sandbox_images.custom_base import name_base
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_host.conftest import Host
from tests.support.sandbox_image import sandbox_image
from tests.support.tiny_image import tiny_image

pytestmark = pytest.mark.docker

LIMITS = {"timeout_seconds": 600, "network": "default"}


@pytest.fixture
def client(host: Host) -> Iterator[httpx.Client]:
    with host.client() as client:
        yield client


@pytest.fixture
def engine() -> Iterator[DockerClient]:
    client = docker.from_env(version="auto")
    yield client
    client.close()


def tar_of(dockerfile: str, name: str = "Dockerfile") -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        root = tarfile.TarInfo(".")
        root.type = tarfile.DIRTYPE
        tar.addfile(root)
        member = tarfile.TarInfo(name)
        member.size = len(dockerfile.encode())
        tar.addfile(member, io.BytesIO(dockerfile.encode()))
    return sink.getvalue()


def name_of(tar: bytes) -> str:
    return name_base(read_packed(io.BytesIO(tar), "Dockerfile"), {}, None).name


def ask(client: httpx.Client, base: dict[str, Any], packed: bytes | None = None) -> httpx.Response:
    parts: dict[str, Any] = {"base": (None, json.dumps({**LIMITS, **base}))}
    return client.put("/bases", files={**parts, **({"context": ("x", packed)} if packed else {})})


def build(client: httpx.Client, dockerfile: str, **limits: Any) -> list[dict[str, Any]]:
    tar = tar_of(dockerfile)
    base = {"name": name_of(tar), "dockerfile": "Dockerfile", **limits}
    reply = ask(client, base, gzip.compress(tar)).raise_for_status()
    return [json.loads(line) for line in reply.text.splitlines()]


def test_a_base_that_is_not_built_is_reported(client: httpx.Client) -> None:
    reply = client.get("/bases", params={"name": f"slipway-base:{uuid4().hex[:12]}"})
    assert reply.json() == {"image": None}
    assert_problem(client.get("/bases", params={"name": "--privileged"}), 422, "validation_failed")


def test_images_are_listed_and_what_users_have_chosen_is_current(
    client: httpx.Client, engine: DockerClient
) -> None:
    name = f"slipway-base:{uuid4().hex[:12]}"
    assert engine.images.get(DEFAULT_BASE_IMAGE).tag(*name.split(":"))
    try:
        listed = [
            {each["name"]: each["is_current"] for each in client.get("/images", params=asked).json()}
            for asked in ({}, {"base": ["debian:12", name]})
        ]
    finally:
        engine.images.remove(name)
    assert [found[name] for found in listed] == [False, True]
    assert all(found[sandbox_image()] for found in listed)


def test_a_build_that_fails_tells_its_lines_and_the_last_of_its_output(client: httpx.Client) -> None:
    dockerfile = f"FROM {DEFAULT_BASE_IMAGE}\nRUN echo hammered-{uuid4().hex} && exit 3\n"
    steps = build(client, dockerfile)

    assert steps[0]["report"].startswith("Building the base image slipway-base:")
    assert any("hammered-" in step.get("report", "") for step in steps)
    assert steps[-1]["failure"]["code"] == "sandbox_base_build_failed"
    assert "hammered-" in steps[-1]["failure"]["output"]
    assert steps[-1]["failure"]["fix"]


def test_a_base_is_held_to_its_limits_and_does_not_stay_beyond_them(
    client: httpx.Client, engine: DockerClient
) -> None:
    dockerfile = f"FROM {DEFAULT_BASE_IMAGE}\nLABEL unique={uuid4().hex}\n"
    steps = build(client, dockerfile, max_bytes=1024)

    assert steps[-1]["failure"]["code"] == "sandbox_base_too_large"
    assert not engine.images.list(name=name_of(tar_of(dockerfile)))


def test_a_base_on_which_nothing_can_be_installed_is_named(
    client: httpx.Client, engine: DockerClient
) -> None:
    with tiny_image(engine) as name:
        reply = ask(client, {"name": name}).raise_for_status()
    assert json.loads(reply.text.splitlines()[-1])["failure"]["code"] == "sandbox_base_no_shell"


def other_files(tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": f"slipway-base:{'0' * 12}"}, gzip.compress(tar)


def other_arguments(tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": name_of(tar), "arguments": {"A": "b"}}, gzip.compress(tar)


def leads_out(_tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": f"slipway-base:{'0' * 12}"}, gzip.compress(tar_of("FROM x\n", "../Dockerfile"))


def no_dockerfile(_tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": f"slipway-base:{'0' * 12}"}, gzip.compress(tar_of("FROM x\n", "other"))


def not_packed(tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": name_of(tar)}, tar


def cut_off(tar: bytes) -> tuple[dict[str, Any], bytes]:
    return {"name": name_of(tar)}, gzip.compress(tar)[:-20]


@pytest.mark.parametrize(
    "wrong", [other_files, other_arguments, leads_out, no_dockerfile, not_packed, cut_off]
)
def test_files_that_do_not_make_the_base_are_refused(
    client: httpx.Client, wrong: Callable[[bytes], tuple[dict[str, Any], bytes]]
) -> None:
    base, packed = wrong(tar_of(f"FROM {DEFAULT_BASE_IMAGE}\n"))
    refused = ask(client, {"dockerfile": "Dockerfile", **base}, packed)
    assert_problem(refused, 400, "build_context_unreadable")


def test_what_is_too_large_is_refused_packed_and_unpacked(client: httpx.Client) -> None:
    base = {"name": f"slipway-base:{'0' * 12}", "dockerfile": "Dockerfile"}
    bomb = gzip.compress(bytes(MAX_TAR_BYTES + 1), 1)
    assert_problem(ask(client, base, bomb), 413, "build_context_too_large")
    assert_problem(ask(client, base, bytes(MAX_TAR_BYTES + 8 * 1024**2)), 413, "payload_too_large")


def test_what_does_not_belong_together_is_refused(client: httpx.Client) -> None:
    assert_problem(ask(client, {"name": "slipway-sandbox:slim-0"}), 400, "image_not_allowed")
    alone = ask(client, {"name": "debian:12", "dockerfile": "Dockerfile"})
    assert_problem(alone, 400, "build_context_missing")
    option = ask(client, {"name": "debian:12", "arguments": {"A=--output": "x"}})
    assert_problem(option, 422, "validation_failed")
