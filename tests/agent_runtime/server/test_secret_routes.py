"""Tests of the routes for secrets. Outputs of clients' commands and the server's own log do not show the
values either.
"""

from pathlib import Path

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say

VALUE = "a-value-of-the-routes"


def test_secrets_are_set_used_and_never_shown(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    conversation = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))["id"]
    route = f"/api/conversations/{conversation}"
    server.call("POST", f"{route}/secrets", json={"secrets": {"TOKEN": VALUE}})
    scripted_llm.script(call("terminal", command="echo $TOKEN | tee token"), say("Done."))
    server.call("POST", f"{route}/events", json=message("Go.", run=True))
    wait_until(lambda: status_of(server, conversation) == "finished")

    assert (tmp_path / "work" / "token").read_text() == f"{VALUE}\n"
    assert VALUE not in str(server.events(conversation))
    assert VALUE not in str(server.call("GET", route))
    body = {"command": f"cat token; echo {VALUE}", "cwd": str(tmp_path / "work")}
    output = server.call("POST", "/api/bash/execute_bash_command", json=body)
    assert output["stdout"] == "<secret-hidden>\n" * 2
    assert VALUE not in str(server.call("GET", "/api/bash/bash_events/search"))
    assert VALUE not in server.log_text()


def test_what_cannot_be_a_secret_is_refused_without_being_repeated(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))["id"]
    with server.http as http:
        body = {"secrets": {"TOKEN": {"kind": "Vault", "value": VALUE}}}
        reply = http.post(f"/api/conversations/{conversation}/secrets", json=body)

    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_secret")
    assert VALUE not in reply.text
