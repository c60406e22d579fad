"""In a process sandbox, the agent's commands run in the command namespaces: isolated Linux namespaces. No
process there can reach the agent server, its log or its keys.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.closed_calls import REFUSED
from tests.support.closed_calls import WRITE_PROBE as TRY_CALLS
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    events,
    start_conversation,
    start_task,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.bubblewrap, pytest.mark.timeout(300)]

# The script tries all these attacks and prints those that succeed. The first process of the command
# namespaces is attacked as well.
PROBE = r"""
import ctypes, json, os, signal, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
conversations = Path(sys.argv[1])
done = []
def attempt(name, attack):
    try:
        if attack() is not False:
            done.append(name)
    except OSError:
        pass
servers = [int(one.name) for one in Path("/proc").glob("[0-9]*") if one.name != "1"
           and b"agent_runtime.server" in (one / "cmdline").read_bytes()]
if servers:
    done.append("see the server")
for pid in [1, *servers]:
    place = Path(f"/proc/{pid}")
    attempt(f"trace {pid}", lambda: libc.ptrace(0x4206, pid, None, None) == 0)
    attempt(f"memory {pid}", lambda: (place / "mem").open("rb").close())
    attempt(f"environment {pid}", lambda: (place / "environ").read_bytes())
    attempt(f"files {pid}", lambda: [one.readlink() for one in (place / "fd").iterdir()])
    attempt(f"root {pid}", lambda: [*(place / "root").iterdir()])
    if pid == 1:
        os.kill(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGSTOP)
    else:
        attempt(f"kill {pid}", lambda: os.kill(pid, signal.SIGCONT))
for log in [*conversations.rglob("log.sqlite*"), *conversations.rglob("writer.lock")]:
    done.append(f"see {log.name}")
for name in ("log.sqlite", ".git-remotes.json", "planted"):
    attempt(f"write {name}", lambda: (conversations / name).write_text("mine"))
for one in conversations.iterdir():
    attempt(f"write into {one.name}", lambda: (one / "log.sqlite").write_text("mine"))
    attempt(f"write for commands {one.name}", lambda: (one / "observations" / "x").write_text("mine"))
    attempt(f"move {one.name}", lambda: one.rename(conversations / "moved"))
attempt("move all", lambda: conversations.rename(conversations.with_name("moved")))
attempt("uncover", lambda: libc.umount2(os.fsencode(conversations), 2) == 0)
attempt("server's socket", lambda: [*Path("/run/agent-server").iterdir()])
attempt("new namespaces", lambda: libc.unshare(0x20000) == 0)
print("tried " + json.dumps(done))
"""
WRITE_PROBE = f"cat > /tmp/probe.py <<'END_OF_PROBE'\n{PROBE}\nEND_OF_PROBE"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(home: Path, scripted_llm: ScriptedLLM) -> Iterator[httpx.Client]:
    scripted_llm.aside = say("A title")
    environment = {"SLIPWAY_PROCESS_ISOLATION": "bubblewrap"}
    with (
        AppServerProcess(home, sandbox="process", environment=environment) as server,
        server.client() as client,
    ):
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        yield client


def test_commands_and_cells_of_a_process_sandbox_do_not_reach_the_server(
    client: httpx.Client, scripted_llm: ScriptedLLM
) -> None:
    probe = 'python3 /tmp/probe.py "$(dirname "$PWD")/conversations"'
    scripted_llm.script(
        call("terminal", command=f"{WRITE_PROBE}\n{probe}"),
        call("terminal", command="echo begun; sleep 1000", timeout=1),
        call("terminal", command="C-c", is_input=True),
        call("execute_ipython_cell", code=f"import subprocess as s\nprint(s.getoutput({probe!r}))"),
        call("finish", message="done"),
    )
    conversation_id = start_conversation(client, "attack", llm_profile="scripted", confirmation_mode="never")
    wait_for_status(client, conversation_id, "finished")

    seen = observations(client, conversation_id)
    assert "tried []" in text_of(seen[0]), text_of(seen[0])
    assert "begun" in text_of(seen[1]), text_of(seen[1])
    assert seen[2]["exit_code"] == 130
    assert "tried []" in text_of(seen[3]), text_of(seen[3])
    # The server still answers, and the processes that it starts still run in the command namespaces.
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    everything = {"command": "kill -9 -1", "timeout": 60}
    client.post(url, json=everything).raise_for_status()
    reply = client.post(url, json={"command": probe, "timeout": 60}).raise_for_status().json()
    assert reply["stdout"].startswith("tried []"), json.dumps(reply)


def test_sockets_to_a_hypervisor_and_io_uring_are_closed_in_process_sandboxes(client: httpx.Client) -> None:
    conversation_id = str(client.post("/app-conversations", json={}).raise_for_status().json()["id"])
    wait_until(lambda: start_task(client, conversation_id)["status"] == "READY", lambda: "its start")
    reply = client.post(
        f"/app-conversations/{conversation_id}/execute-bash-command",
        json={"command": f"cd /tmp\n{TRY_CALLS}\npython3 calls.py", "timeout": 60},
    )

    assert reply.raise_for_status().json()["stdout"].strip() == REFUSED, reply.text


def observations(client: httpx.Client, conversation_id: str) -> list[Json]:
    return [event["observation"] for event in events(client, conversation_id) if "observation" in event]


def text_of(observation: Json) -> str:
    return "\n".join(part["text"] for part in observation["content"] if part["type"] == "text")
