"""The file routes allow a client to read the server's own files, such as the log, but not to change them."""

from pathlib import Path

import pytest

from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called
from tests.support.scripted_llm import ScriptedLLM


@pytest.mark.parametrize("workspace", ["project", "conversations/project"])
async def test_a_log_can_be_downloaded_and_not_replaced(
    tmp_path: Path, scripted_llm: ScriptedLLM, workspace: str
):
    async with agent_app(tmp_path, workspace_path=tmp_path / workspace) as client:
        info = await called(client, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
        await called(client, "POST", f"/api/conversations/{info['id']}/events", json=message("Keep this."))
        directory = tmp_path / "conversations" / info["id"].replace("-", "")
        log, own = {"path": str(directory / "log.sqlite")}, {"path": str(tmp_path / workspace / "log.sqlite")}

        refused = [
            await client.post("/api/file/upload", params=log, files={"file": b"garbage"}),
            await client.post("/api/file/create_directory", params={"path": str(directory / "new")}),
        ]
        got = await client.get("/api/file/download", params=log)
        taken = await client.post("/api/file/upload", params=own, files={"file": b"mine"})

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(403, "path_not_writable")] * 2
    assert got.content.startswith(b"SQLite format 3")
    assert taken.is_success
