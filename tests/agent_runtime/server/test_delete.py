"""Tests of deleting a conversation that needs time to end, while other requests for this
conversation arrive.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, say


def test_a_conversation_that_is_being_deleted_is_not_found(
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


def test_all_that_its_agent_left_running_ends_and_nothing_of_another_conversation(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    def begin(name: str) -> str:
        """Runs an agent that leaves running: a background process, a process in a separate session, and a
        kernel with a child process. Returns the id of the conversation.
        """
        folder = tmp_path / name
        folder.mkdir()
        away = f"(cd / && setsid sh -c 'echo $$ > {folder}/away; exec sleep 600' > /dev/null 2>&1 &)"
        jobs = f"sleep 600 & echo $! > {folder}/job; {away}; until [ -s {folder}/away ]; do :; done"
        cell = (
            "import os, subprocess; "
            "child = subprocess.Popen(['sleep', '600'], start_new_session=True); "
            f"open('{folder}/kernel', 'w').write(f'{{os.getpid()}} {{child.pid}}')"
        )
        scripted_llm.script(
            call("terminal", command=jobs), call("execute_ipython_cell", code=cell), say("Left running.")
        )
        body = start_request(scripted_llm, folder, "Go.")
        body["agent"]["tools"].append({"name": "execute_ipython_cell"})
        conversation = str(server.call("POST", "/api/conversations", json=body)["id"])
        wait_until(lambda: status_of(server, conversation) == "finished")
        return conversation

    def left(name: str) -> list[int]:
        return [
            int(pid) for file in sorted((tmp_path / name).glob("[ajk]*")) for pid in file.read_text().split()
        ]

    first, second = begin("first"), begin("second")
    assert len(left("first")) == len(left("second")) == 4
    assert all(map(runs, [*left("first"), *left("second")]))

    server.call("DELETE", f"/api/conversations/{first}")

    assert [pid for pid in left("first") if runs(pid)] == []
    assert all(map(runs, left("second")))
    server.call("DELETE", f"/api/conversations/{second}")
    assert [pid for pid in left("second") if runs(pid)] == []


def runs(pid: int) -> bool:
    """Returns whether the process runs. A zombie (ended, but its parent has not waited for it) does not count
    as running.
    """
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
