"""A check of the command `slipway doctor`: whether commands of the agent can be isolated in process sandboxes
(sandboxes that run as processes, not as containers) on this machine. The check runs a test command.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from app_server.doctor.findings import Finding, failed, well
from app_server.sandbox_backends.process.bubblewrap import (
    PROBE_TIMEOUT_SECONDS,
    Unusable,
    find_bubblewrap,
    runtime_paths,
)

_NAME = "command namespaces"
_RUNTIME_ROOT = Path(__file__).resolve().parents[2]
_FIX = (
    "Allow namespaces (sysctl user.max_net_namespaces, user.max_pid_namespaces, user.max_mnt_namespaces and "
    "user.max_ipc_namespaces above 0); in a container, leave /proc unmasked. Or set "
    "SLIPWAY_PROCESS_ISOLATION=none, without isolation."
)


def check_command_namespaces() -> Finding:
    """Checks whether a process sandbox can isolate the agent's commands from the agent server, and returns
    the result. A process sandbox runs as a process, not as a container. It runs the commands in separate
    Linux namespaces, and the check tests whether these can be created.

    Must be called only if bubblewrap, the program that isolates process sandboxes, works on this machine.
    Blocks for a few hundred milliseconds.
    """
    said = _try()
    if said:
        return failed(_NAME, f"No process sandbox starts here. {said}", _FIX, "agent_server_ended")
    return well(
        _NAME, "Commands are isolated from the agent server, in a network without access to the outside."
    )


def _try() -> str:
    """Runs a test command with the isolation of a process sandbox (a sandbox that runs as a process, not as a
    container). Returns the error text of the command, or an empty text if the command succeeds.
    """
    with TemporaryDirectory() as folder:
        program = "agent_runtime.workspace.command_namespaces"
        command = [sys.executable, "-s", "-m", program, f"{folder}/conversations"]
        try:
            walled = find_bubblewrap().wrap(
                command,
                writable=[Path(folder)],
                readable=runtime_paths(_RUNTIME_ROOT, os.environ),
                directory=_RUNTIME_ROOT,
            )
            done = subprocess.run(
                walled, capture_output=True, text=True, check=False, timeout=PROBE_TIMEOUT_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired, Unusable) as error:
            return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"
