"""Tests of the list of ports on which programs in a sandbox listen."""

from pathlib import Path

from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, say

LOW_PORTS = range(20_000, 32_000)


def test_a_server_in_a_cell_is_listed_as_a_port_but_the_channels_of_the_kernel_are_not(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    cell = f"""import http.server, threading
for port in range({LOW_PORTS.start}, {LOW_PORTS.stop}):
    try:
        site = http.server.ThreadingHTTPServer(("127.0.0.1", port), http.server.SimpleHTTPRequestHandler)
    except OSError:
        continue
    break
threading.Thread(target=site.serve_forever, daemon=True).start()
open("port", "w").write(str(port))"""
    scripted_llm.script(call("execute_ipython_cell", code=cell), say("Served."))
    body = start_request(scripted_llm, tmp_path, "Serve.")
    body["agent"]["tools"].append({"name": "execute_ipython_cell"})
    conversation = str(server.call("POST", "/api/conversations", json=body)["id"])
    wait_until(lambda: status_of(server, conversation) == "finished")

    ports = server.call("GET", "/api/ports")["ports"]

    served = int((tmp_path / "work" / "port").read_text())
    own = [one["port"] for one in ports if one["conversation_id"] == conversation]
    server.call("DELETE", f"/api/conversations/{conversation}")
    assert own == [served]
