"""Tests of a container that several callers remove at the same time."""

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest
from docker import DockerClient
from docker.errors import NotFound

from app_server.sandbox_backends.docker import containers
from tests.support.tiny_image import tiny_image

pytestmark = pytest.mark.docker

AT_ONCE = 6


def test_a_container_that_is_being_removed_already_is_waited_for(engine: DockerClient) -> None:
    with tiny_image(engine) as image, ThreadPoolExecutor(AT_ONCE) as side_by_side:
        for _ in range(10):
            made = engine.containers.create(image, ["nothing"])
            list(side_by_side.map(containers.remove, repeat(made, AT_ONCE)))
            with pytest.raises(NotFound):
                engine.containers.get(made.id)
