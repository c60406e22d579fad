"""Tests of an agent server that was killed: the next server ends its shells. Also tests of
the server's log.
"""

import tempfile
from pathlib import Path

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say


def shells_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"slipway-shell-{pid}-*"))


def test_the_next_server_removes_the_shells_of_one_that_was_killed(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.start()
    scripted_llm.script(call("terminal", command="true"), say("Done."))
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    wait_until(lambda: status_of(own_server, info["id"]) == "finished")
    assert own_server.process is not None
    pid = own_server.process.pid
    assert shells_of(pid)

    own_server.kill()
    own_server.start()

    assert not shells_of(pid)


def test_the_log_tells_the_code_and_the_request_of_a_refusal(own_server: AgentServer):
    own_server.start()
    with own_server.http as http:
        reply = http.get("/api/conversations/00000000-0000-0000-0000-000000000000")

    [line] = [line for line in own_server.log_text().splitlines() if "request refused" in line]
    assert "conversation_not_found" in line
    assert f"request_id='{reply.json()['request_id']}'" in line
