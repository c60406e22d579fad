"""Starts one hundred conversations at the same moment in one sandbox. None of the starts fails."""

import asyncio
from pathlib import Path

import pytest

from app_server.core.config import Config
from tests.app_server.conversations.conftest import Home
from tests.app_server.conversations.test_shared_sandbox import share

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]

STARTS = 100


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"sandbox_max_conversations": STARTS + 1})


async def test_a_hundred_starts_at_once_in_one_sandbox(home: Home, repository: Path) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))

    starts = (
        home.start(sandbox_id=first["id"], selected_repository=str(repository), title=f"Start {number}")
        for number in range(STARTS)
    )
    begun = await asyncio.gather(*starts)
    # Waits for one start after the other: to list all of them takes longer than a start.
    tasks = [await home.ended(task["id"]) for task in begun]

    assert [task["error"] for task in tasks if task["status"] != "READY"] == []
    assert {task["sandbox_id"] for task in tasks} == {first["id"]}
    folders = {(await home.conversation(task["id"]))["id"] for task in tasks}
    assert len(folders) == STARTS
    for task in (tasks[0], tasks[-1]):
        assert await home.shell(task["id"], "cat README.md; git remote") == "harbour\norigin"
