"""Tests of containers in which the agent server and the agent have different user ids. They call the agent
server and run commands without a conversation.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from docker import DockerClient

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_backends.docker.hardening import AGENT_UID
from tests.app_server.sandboxes.conftest import Visit, name_of, shell
from tests.support.closed_calls import REFUSED, WRITE_PROBE
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.docker

# A small MCP server over standard input and output. It supports only what is needed to list its tools.
MCP_SERVER = """
import json, os, pathlib, sys
users = pathlib.Path("/proc/self/status").read_text().split("Uid:")[1].splitlines()[0].split()
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        answer = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "users", "version": "1"}}
    elif asked.get("method") == "tools/list":
        name = "_".join(["user", *users, "in", os.environ["TMPDIR"]])
        answer = {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                          "error": {"code": -32601, "message": "unknown"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


@asynccontextmanager
async def agent_server(running: RunningSandbox) -> AsyncIterator[httpx.AsyncClient]:
    headers = running.client._headers
    async with httpx.AsyncClient(base_url=running.client.url, headers=headers, timeout=60) as client:
        yield client


async def test_mcp_servers_over_stdio_run_as_the_agent(visit: Visit) -> None:
    running = visit.running
    await shell(running, f"cat > server.py <<'END'\n{MCP_SERVER}\nEND")
    server: dict[str, object] = {"command": "python3", "args": ["server.py"], "cwd": running.working_root}
    async with agent_server(running) as client:
        # The C library removes TMPDIR from the environment of a program that changes its user.
        server["env"] = {"TMPDIR": running.working_root}
        reply = await client.post("/api/mcp/test", json={"server": server})

    assert reply.json() == {
        "ok": True,
        "tools": [f"user_10001_10001_10001_10001_in_{running.working_root}"],
        "tool_result": None,
        "oauth_state": None,
    }


async def test_a_log_that_others_could_have_written_is_rejected(visit: Visit, engine: DockerClient) -> None:
    running = visit.running
    body = {
        "agent": {"llm": {"model": "openai/none", "api_key": "none"}},
        "workspace": {"working_dir": running.working_root},
    }
    async with agent_server(running) as client:
        made = await client.post("/api/conversations", json=body)
        log = f"/workspace/conversations/{made.json()['id'].replace('-', '')}/log.sqlite"
        container = engine.containers.get(name_of(running.id))
        of_server = container.exec_run(["stat", "-c", "%u %a", log], user="0").output.decode().split()
        other = uuid4()
        forged = f"/workspace/conversations/{other.hex}"
        copy = f"cp -r $(dirname {log}) {forged} && chown -R {AGENT_UID} {forged}"
        assert container.exec_run(["sh", "-c", copy], user="0").exit_code == 0
        reply = await client.get(f"/api/conversations/{other}")

    assert of_server == ["10000", "600"]
    assert (reply.status_code, reply.json()["code"]) == (500, "conversation_damaged")


async def test_a_workspace_from_before_is_taken_over(visit: Visit, engine: DockerClient) -> None:
    running, conversation = visit.running, f"/workspace/conversations/{uuid4().hex}"
    # The files that an older version left, which had only one user id, with links that a command may have
    # added.
    before = (
        f"mkdir -p {conversation}/observations; cd {conversation}; echo a > log.sqlite; ln log.sqlite "
        "/workspace/project/second; echo b > observations/one; ln -s /etc/passwd log.sqlite-wal; "
        f"chown -R {AGENT_UID}:{AGENT_UID} /workspace; chmod 777 /workspace log.sqlite"
    )
    container = engine.containers.get(name_of(running.id))
    assert container.exec_run(["sh", "-c", before], user="0").exit_code == 0
    container.kill()
    running = await visit.sandboxes.bring_up(running.id, visit.house.reports.append)
    shown = f"cd {conversation} && stat -c '%u %a %n' . * /workspace; cat observations/one; ls -la"
    lines = (await shell(running, shown)).splitlines()
    await shell(running, "echo mine > /workspace/project/second && rm /workspace/project/second")
    log = container.exec_run(["cat", f"{conversation}/log.sqlite"], user="0").output.decode()

    assert {"10000 755 .", "10000 600 log.sqlite", "10001 755 observations", "10000 1775 /workspace"} < {
        *lines
    }
    assert "b" in lines
    assert not [line for line in lines if "log.sqlite-wal" in line]
    assert log == "a\n"


async def test_sockets_to_a_hypervisor_and_io_uring_are_closed_in_containers(visit: Visit) -> None:
    found = await shell(visit.running, f"{WRITE_PROBE}\npython3 calls.py")

    assert found.strip() == REFUSED


@pytest.mark.parametrize("taken", ["other:10001", "agent:1234", "agent:10001", "a:10000 b:10001 agent:1005"])
def test_a_base_image_may_have_its_own_users(engine: DockerClient, taken: str) -> None:
    sandbox_image()
    dockerfile = (Path(__file__).parents[3] / "containers/sandbox/Dockerfile").read_text()
    [script] = re.findall(r"^RUN (taken=.*?)\nRUN ", dockerfile, re.MULTILINE | re.DOTALL)
    before = " && ".join("useradd --uid {1} {0}".format(*user.split(":")) for user in taken.split())
    after = "id -u agent && getent passwd 10001 && stat -c %U /home/agent"
    output = engine.containers.run(
        DEFAULT_BASE_IMAGE, ["sh", "-ec", f"{before}\n{script}\n{after}"], remove=True, network_mode="none"
    ).decode()

    uid, account, owner = output.splitlines()[-3:]
    assert (uid, owner) == ("10001", "agent")
    assert account.split(":")[0] == "agent"
    assert account.split(":")[5:] == ["/home/agent", "/bin/bash"]
