"""A client can answer a request for confirmation as soon as it is in the log, before the run has ended
completely.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.conversation.checkpoints.snapshots import Checkpoints
from agent_runtime.wire import CheckpointKind
from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_app import agent_app, called, eventually, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, call, say


@pytest.mark.parametrize("accept", [True, False])
async def test_an_answer_while_the_files_are_still_kept_counts(
    tmp_path: Path, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch, accept: bool
):
    keeping, may_go_on = asyncio.Event(), asyncio.Event()
    take = Checkpoints.take

    async def slowly(self: Checkpoints, kind: CheckpointKind, *at: Any, **options: Any) -> Any:
        if kind is CheckpointKind.END:
            keeping.set()
            await may_go_on.wait()
        return await take(self, kind, *at, **options)

    monkeypatch.setattr(Checkpoints, "take", slowly)
    scripted_llm.script(call("terminal", command="touch made"), say("Done."))
    request = {
        **start_request(scripted_llm, tmp_path, "Go."),
        "confirmation_policy": {"kind": "AlwaysConfirm"},
    }
    async with agent_app(tmp_path) as client:
        conversation_id = (await called(client, "POST", "/api/conversations", json=request))["id"]
        path = f"/api/conversations/{conversation_id}"
        await eventually(keeping.is_set)
        events = (await called(client, "GET", f"{path}/events/search"))["items"]
        assert events[-1]["value"] == "waiting_for_confirmation", "the log says so already"

        body = {"accept": accept, "run": True}
        answer = asyncio.create_task(client.post(f"{path}/events/respond_to_confirmation", json=body))
        await asyncio.wait([answer], timeout=0.2)
        may_go_on.set()

        assert (await answer).status_code == 200, (await answer).text
        await wait_for_status(client, conversation_id, "finished")
    assert (tmp_path / "work" / "made").exists() is accept
