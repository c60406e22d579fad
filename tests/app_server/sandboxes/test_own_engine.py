from contextlib import closing

import pytest

from app_server.core.config import DEFAULT_BASE_IMAGE
from tests.support.own_engine import OwnEngine
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.own_engine


def test_a_separate_engine_keeps_its_containers_over_a_restart_and_ends_them_with_its_machine() -> None:
    sandbox_image()  # also gets the base image, which the engine below needs

    with OwnEngine(live_restore=True, image=DEFAULT_BASE_IMAGE) as engine:
        with closing(engine.client()) as client:
            sleeper = client.containers.run(DEFAULT_BASE_IMAGE, "sleep infinity", detach=True).id

        engine.restart()
        assert _status(engine, sleeper) == "running"
        engine.kill()
        engine.start()
        assert _status(engine, sleeper) == "running"

        engine.lose()
        engine.boot_again()
        assert _status(engine, sleeper) == "exited"
    assert not engine.log.exists()


def _status(engine: OwnEngine, container_id: str | None) -> str:
    assert container_id
    with closing(engine.client()) as client:
        return str(client.containers.get(container_id).status)
