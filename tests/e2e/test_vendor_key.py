"""The vendor's API key is found nowhere in the sandbox: environment, files, process list, event log."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, call
from tests.support.server import AppServerProcess, events, start_conversation, wait_for_status

CANARY = "sk-scripted-canary"
# The pattern is written so that the command that looks for the key does not contain it.
LOOK_EVERYWHERE = """
pattern='sk-scripted-canar[y]'
env | grep -c "$pattern"
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c "$pattern"
grep -rsl "$pattern" "$HOME" /tmp /workspace "$PWD" 2>/dev/null | grep -v '/proc/' | wc -l
"""


@pytest.mark.parametrize("server", SANDBOX_KINDS, indirect=True)
def test_the_vendor_key_is_nowhere_in_the_sandbox(
    request: pytest.FixtureRequest,
    scripted_server: AppServerProcess,
    scripted_llm: ScriptedLLM,
    repository: Path,
) -> None:
    assert scripted_llm.api_key == CANARY
    kind = request.node.callspec.params["server"]
    scripted_llm.script(
        call("terminal", command=LOOK_EVERYWHERE, timeout=120), call("finish", message="done")
    )
    with scripted_server.client() as client:
        # confirmation_mode="never", because reading the environment of other processes needs a confirmation
        # otherwise.
        conversation_id = start_conversation(
            client, "look", selected_repository=str(repository), confirmation_mode="never"
        )
        wait_for_status(client, conversation_id, "finished")
        assert scripted_llm.requests[0].bearer == CANARY, "the vendor itself was called with its key"

        log = events(client, conversation_id)
        assert CANARY not in str(log)
        found = next(event["observation"] for event in log if event["kind"] == "ObservationEvent")
        if kind == "docker":
            # In a container nothing may match. A process sandbox sees the files of this machine.
            assert found["content"][0]["text"].split() == ["0", "0", "0"]
            assert _matches_in_container(conversation_id) == ""
        else:
            assert found["content"][0]["text"].split()[0] == "0"
            assert files_with(scripted_server.home / "sandboxes", CANARY) == []
            for environment in _environments_below(scripted_server.home / "sandboxes"):
                assert CANARY.encode() not in environment


def _matches_in_container(conversation_id: str) -> str:
    """Returns what a search as root finds in the container: files, also on volumes, and process
    environments.
    """
    script = (
        f"grep -rsl {CANARY} /workspace /home /tmp /opt /etc /run /var; "
        f"cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep {CANARY}"
    )
    name = f"slipway-sandbox-{conversation_id}"
    command = ["docker", "exec", "--user", "0", name, "sh", "-c", script]
    inspected = subprocess.run(["docker", "inspect", name], capture_output=True, text=True, check=True)
    assert CANARY not in inspected.stdout
    # The command line of grep contains the canary, but /proc/*/environ does not show command lines.
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _environments_below(root: Path) -> list[bytes]:
    """Returns the environments of all processes whose working directory is below `root`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(root):
                found.append((process / "environ").read_bytes())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    assert found, "the agent server and its shell work there"
    return found
