"""Tests of the errors when no Docker engine answers. These tests need no Docker engine."""

import pytest

from app_server.core.errors import StartFailure, Unavailable
from tests.app_server.sandboxes.conftest import House


@pytest.fixture(autouse=True)
def dead_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")


async def test_each_start_fails_with_cause_and_fix_when_docker_was_asked_for(house: House) -> None:
    house.config = house.config.model_copy(update={"sandbox": "docker"})
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, house.reports.append)

        with pytest.raises(Unavailable) as refusal:
            await sandboxes.delete(sandbox_id)

        assert sandboxes.describe().backend == "docker"
        assert refusal.value.code == "docker_unavailable"
        assert await house.row(sandbox_id) is not None
        assert failure.value.code == "docker_unavailable"
        assert "SLIPWAY_SANDBOX=process" in failure.value.fix


async def test_auto_falls_back_to_processes_and_warns(house: House) -> None:
    house.config = house.config.model_copy(update={"sandbox": "auto"})
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)

        assert sandboxes.describe().backend == "process"
        assert not sandboxes.describe().is_isolated
        assert await running.client.is_healthy()
