"""The agent server in the sandbox image gives documented answers to invented requests.

The image has only the code of the agent server, not its installed package, so its version must come from
the code. A few requests for each operation find what the image lacks.
tests/agent_runtime/server/test_fuzz.py sends more requests to the same code.
"""

import asyncio
from functools import partial
from pathlib import Path

import httpx
import pytest

from agent_runtime.version import VERSION
from tests.app_server.sandboxes.conftest import House
from tests.support.fuzzing import LIMIT_SECONDS, fuzz

pytestmark = pytest.mark.docker


@pytest.mark.timeout(LIMIT_SECONDS)
async def test_every_operation_in_a_container_answers_whatever_is_sent_as_it_documents(
    slim_house: House, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    async with slim_house.open_sandboxes() as sandboxes:
        running = await slim_house.start(sandboxes)
        url, headers = running.client.url, running.client._headers
        # The model cannot be reached, and is not called a second time.
        llm = {"model": "openai/none", "base_url": "http://127.0.0.1:9", "api_key": "none", "num_retries": 0}
        body = {
            "agent": {"llm": llm},
            "workspace": {"working_dir": running.working_root},
        }
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            made = await client.post("/api/conversations", json=body)
            info = await client.get("/server_info")
            trajectory = f"/api/file/download-trajectory/{made.json()['id']}"
            exported = await client.get(trajectory, params={"format": "atif"})
            workspace = running.working_root
            conversation_id = made.json()["id"]
            send = partial(fuzz, url, headers, conversation_id, workspace, scratch)
            await asyncio.to_thread(send, phases="examples,fuzzing", few="3")
            health = await client.get("/health")

    assert health.json() == {"status": "ok"}
    assert info.json()["version"] == VERSION
    assert exported.json()["agent"]["version"] == VERSION
