"""The app server does not answer while the agent works: all events arrive afterwards, in order."""

import socket
from pathlib import Path

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import ScriptedLLM, calls, say

MESSAGES = 3_000
ATTEMPTS = 10
"""Enough attempts for the pauses between them to reach their longest."""


def test_thousands_of_events_of_an_outage_arrive_in_order(
    own_server: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    own_server.report_url = receiver.url
    own_server.start()
    info = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    conversation = info["id"].replace("-", "")
    path = f"/api/conversations/{conversation}/events"
    own_server.call("POST", path, json=message("before"))
    wait_until(lambda: receiver.stored[conversation])

    receiver.stop()
    with own_server.http as http:
        for number in range(MESSAGES):
            http.post(path, json=message(f"number {number}")).raise_for_status()
    scripted_llm.script(*(calls(("think", {"thought": str(n)})) for n in range(20)), say("done"))
    own_server.call("POST", f"/api/conversations/{conversation}/run")
    wait_until(lambda: status_of(own_server, conversation) == "finished")
    turn_away(receiver.port, ATTEMPTS)
    receiver.start()

    log = own_server.events(conversation)
    wait_until(lambda: len(receiver.stored[conversation]) >= len(log))
    assert receiver.stored[conversation] == log
    assert len(log) > MESSAGES


def turn_away(port: int, attempts: int) -> None:
    """Accepts this number of connections and closes each at once."""
    with socket.create_server(("127.0.0.1", port)) as door:
        door.settimeout(PATIENCE_SECONDS)
        for _ in range(attempts):
            door.accept()[0].close()
