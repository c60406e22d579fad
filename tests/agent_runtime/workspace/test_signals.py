"""A signal to the group or the session of a process reaches no process that got its id later."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_runtime.workspace.signals import signal_group_of, signal_session_of
from tests.support.agent_app import eventually
from tests.support.left_running import programs_in

# Runs as the first process of a separate process namespace, in which it can choose the next process id.
REUSED_ID = """
import signal, subprocess
from pathlib import Path
from agent_runtime.workspace import signals

ended = subprocess.Popen(["true"], start_new_session=True)
ended.wait()
Path("/proc/sys/kernel/ns_last_pid").write_text(str(ended.pid - 1))
stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
assert stranger.pid == ended.pid
getattr(signals, "SEND")(ended, signal.SIGKILL)
stranger.terminate()
print(stranger.wait())
"""


@pytest.mark.namespaces
@pytest.mark.parametrize("send", [signal_group_of, signal_session_of])
def test_a_process_that_got_the_id_of_an_ended_one_gets_no_signal_for_it(send) -> None:
    program = REUSED_ID.replace("SEND", send.__name__)
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("-15\n", ""), "it was ended by SIGTERM, not by SIGKILL before"


@pytest.mark.parametrize("send", [signal_group_of, signal_session_of])
async def test_what_an_ended_process_has_started_still_gets_its_signals(send, tmp_path: Path) -> None:
    ended = await asyncio.create_subprocess_exec(
        "sh", "-c", "sleep 600 &", cwd=tmp_path, start_new_session=True
    )
    await ended.wait()
    assert programs_in(tmp_path)

    send(ended, signal.SIGKILL)

    await eventually(lambda: not programs_in(tmp_path))
