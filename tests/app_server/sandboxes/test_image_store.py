"""Tests of stored sandbox images: which are in use, and how the others are removed."""

import io
from collections.abc import Iterator
from uuid import uuid4

import docker
import pytest
from docker import DockerClient

from app_server.sandbox_images.definition import BASE_REPOSITORY
from app_server.sandbox_images.image_store import prune_images, stored_images
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.docker


@pytest.fixture
def engine() -> Iterator[DockerClient]:
    client = docker.from_env(version="auto")
    yield client
    client.close()


@pytest.fixture
def repository(engine: DockerClient) -> Iterator[str]:
    """Creates a repository of three images with the tags "current", "used" and "old". Yields its name."""
    name = f"slipway-test-{uuid4().hex[:12]}"
    base = sandbox_image()
    for tag in ("current", "used", "old"):
        made = engine.containers.create(base, labels={"tag": tag})
        made.commit(repository=name, tag=tag)
        made.remove()
    yield name
    for image in engine.images.list(name=name):
        for tag in image.tags:
            engine.images.remove(tag, force=True)


def test_only_unused_images_are_removed(engine: DockerClient, repository: str) -> None:
    container = engine.containers.create(f"{repository}:used")
    try:
        current = {f"{repository}:current"}
        uses = {
            image.name.split(":")[1]: (image.is_current, image.is_used, image.is_left_over)
            for image in stored_images(engine, current, [repository])
        }
        removed = prune_images(engine, current, [repository])
        left = {image.name for image in stored_images(engine, current, [repository])}
    finally:
        container.remove()

    assert uses == {
        "current": (True, False, False),
        "used": (False, True, False),
        "old": (False, False, True),
    }
    assert [image.name for image in removed] == [f"{repository}:old"]
    assert left == {*current, f"{repository}:used"}


def test_bases_that_were_built_here_go_and_the_same_image_by_another_name_stays(
    engine: DockerClient,
) -> None:
    ours, theirs = f"slipway-test-{uuid4().hex[:12]}", f"slipway-test-own-{uuid4().hex[:12]}:1"
    dockerfile = f"FROM scratch\nLABEL unique={uuid4().hex}\n"
    image, _ = engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=theirs, rm=True)
    try:
        for tag in ("needed", "old"):
            image.tag(ours, tag)
        removed = prune_images(engine, {f"{ours}:needed"}, [ours, f"{ours}-none"])
        left = set(engine.images.get(theirs).tags)
    finally:
        for name in engine.images.get(theirs).tags:
            engine.images.remove(name, force=True)

    assert [each.name for each in removed] == [f"{ours}:old"]
    assert left == {theirs, f"{ours}:needed"}


def test_custom_bases_are_listed(engine: DockerClient) -> None:
    name = f"{BASE_REPOSITORY}:{uuid4().hex[:12]}"
    dockerfile = f"FROM scratch\nLABEL unique={uuid4().hex}\n"
    engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name, rm=True)
    try:
        uses = {image.name: image.is_left_over for image in stored_images(engine, {})}
        [current] = [image for image in stored_images(engine, {name}) if image.name == name]
    finally:
        engine.images.remove(name, force=True)

    assert uses[name]
    assert current.is_current
