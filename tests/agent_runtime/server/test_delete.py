"""Deleting a conversation that takes its time to end, while others ask for it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, say


def test_one_that_is_being_deleted_is_gone_for_everybody(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("Done."))
    os.mkfifo(tmp_path / "leave")
    wait = {"type": "command", "command": f"touch {tmp_path}/ending; cat {tmp_path}/leave"}
    body = start_request(
        scripted_llm, tmp_path, "Go.", hook_config={"hooks": {"SessionEnd": [{"hooks": [wait]}]}}
    )
    conversation = server.call("POST", "/api/conversations", json=body)["id"]
    path = f"/api/conversations/{conversation}"
    wait_until(lambda: status_of(server, conversation) == "finished")

    with ThreadPoolExecutor() as threads, server.http as http:
        deleting = threads.submit(server.call, "DELETE", path)
        wait_until((tmp_path / "ending").exists)
        asked = [
            http.get(path),
            http.get(f"{path}/events/search"),
            http.get(f"/api/file/download-trajectory/{conversation}"),
            http.delete(path),
        ]
        listed = http.get("/api/conversations", params={"ids": conversation}).json()
        again = http.post("/api/conversations", json={**body, "conversation_id": conversation})
        (tmp_path / "leave").write_text("now")
        deleting.result(timeout=PATIENCE_SECONDS)

    assert [reply.status_code for reply in asked] == [404] * 4
    assert listed == [None]
    assert (again.status_code, again.json()["code"]) == (409, "conversation_being_deleted")
    assert (
        httpx.get(f"{server.url}{path}", headers=dict(http.headers), timeout=PATIENCE_SECONDS).status_code
        == 404
    )
    assert not (server.path / "conversations" / conversation.replace("-", "")).exists()
