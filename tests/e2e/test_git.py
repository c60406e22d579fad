"""An agent in a container pushes a branch to its git host, and a large repository goes through the app
server.
"""

from pathlib import Path

import pytest

from tests.support.git_host import GitHost
from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, events, start_conversation, wait_for_status

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

CANARY = "canary-token-66d2"
LARGE_MEGABYTES = 80
BOUND_MEGABYTES = 40
"""How much more memory, in MiB, the app server may use while several times this amount of data passes through
it.
"""


@pytest.mark.parametrize("server", ["docker"], indirect=True)
def test_a_branch_and_a_large_commit_are_pushed_from_a_container(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    scripted_llm.script(
        call(
            "terminal",
            command="git checkout -q -b mend && echo mended > mended.txt && git add -A"
            " && git commit -q -m Mend && git push origin mend; git push origin HEAD:main",
        ),
        say("Pushed."),
    )
    with GitHost(tmp_path / "host") as host, scripted_server.client() as client:
        host.make("team/harbour")
        host.tokens[CANARY] = "write"
        token = {"host": host.origin, "token": CANARY}
        client.post("/settings/git-credentials", json=token).raise_for_status()
        url = host.url("team/harbour")
        conversation = start_conversation(client, "Mend it.", selected_repository=url)
        wait_for_status(client, conversation, "finished")
        seen = str(events(client, conversation))
        assert "this branch was not made by this conversation" in seen
        assert host.branches("team/harbour").keys() == {"refs/heads/main", "refs/heads/mend"}

        def run(command: str) -> str:
            body = {"command": f"set -e; {command}", "timeout": 600}
            route = f"/app-conversations/{conversation}/execute-bash-command"
            output = client.post(route, json=body, timeout=600).raise_for_status().json()
            assert output["exit_code"] == 0, output
            return str(output["stdout"])

        before = peak_megabytes(scripted_server.pid)
        run(
            "git config core.compression 0; git config core.bigFileThreshold 1m;"
            f"head -c {LARGE_MEGABYTES}M /dev/urandom > large.bin; git add -A; git commit -q -m Large;"
            "git push -q origin HEAD:refs/heads/large; rm large.bin; git checkout -q -f HEAD~1; git fetch -q"
        )
        run(f"git clone -q --bare --single-branch -b large {url} ../copy.git; test -s ../copy.git/HEAD")
        assert peak_megabytes(scripted_server.pid) - before < BOUND_MEGABYTES
        assert "refs/heads/large" in host.branches("team/harbour")

        everything = (
            "env; git config -l; cat /proc/self/environ; grep -rIl "
            + CANARY
            + " /workspace /tmp /home || true"
        )
        assert CANARY not in run(everything).replace(f"grep -rIl {CANARY}", "")
        pushes = client.get(f"/app-conversations/{conversation}/git/pushes").raise_for_status().json()
    assert [(push["ref"], push["outcome"]) for push in pushes] == [
        ("refs/heads/large", "accepted"),
        ("refs/heads/main", "refused"),
        ("refs/heads/mend", "accepted"),
    ]
    assert CANARY not in seen
    assert CANARY not in scripted_server.output()
    assert files_with(scripted_server.home, CANARY) == []


def peak_megabytes(pid: int) -> float:
    """Returns the largest amount of memory that the process has used so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
