"""Tests the demo task through all layers, with the recorded model replies that are part of the product: the
agent fixes a failing test in a sandbox.
"""

import pytest

from app_server import demo
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.support.databases import POSTGRES

pytestmark = pytest.mark.parametrize("database_kind", [POSTGRES], indirect=True)


async def test_the_demo_mends_the_failing_test_and_the_log_is_whole(home: Home) -> None:
    task = await home.ready(
        selected_repository=str(demo.repository_path(home.config.home)),
        llm_profile=demo.PROFILE,
        initial_message={"role": "user", "content": [{"type": "text", "text": demo.TASK}]},
    )

    async def is_finished() -> bool:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(is_finished)
    conversation = await home.conversation(task["id"])
    events = f"/api/v1/conversation/{task['id']}/events"
    assert (await home.client.get(f"{events}/count")).json() == conversation["last_seq"]
    assert (await home.client.get(f"{ROOT}/{task['id']}/git/patch")).text.startswith("diff --git")
    assert (await home.client.get(f"{ROOT}/{task['id']}/git/changes")).json()
