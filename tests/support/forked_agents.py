"""Starts agent servers without the half second of a start: forks them from a process with loaded modules.

agent = ForkedAgentServer(["--port", "8123"], environment, {1: log, 2: log})    # much like `subprocess.Popen`

The process that forks is called the nursery. `/proc/ID/cmdline` and `/proc/ID/environ` of a server show the
values of the nursery. A test that checks a start, or these files, starts a new interpreter instead.
"""

import importlib
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.forking import ForkedProcess, load_and_fork, nursery_of

_COMMAND = ["-s", "-m", "agent_runtime.server"]
_MODULES = (
    "agent_runtime.server.main",
    "agent_runtime.server.keys.provisioning",
    "agent_runtime.server.startup.application",
    "agent_runtime.server.startup.closed_calls",
    "agent_runtime.server.startup.two_users",
    "agent_runtime.server.startup.variables",
    "uvicorn.config",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "uvicorn.server",
)


class ForkedAgentServer(ForkedProcess):
    """A forked agent server. `files`: its open files. The key is the file descriptor in the agent server, the
    value the descriptor in this process. `stdin`: the pipe through which it gets its keys, if there is one.
    """

    stdin: IO[bytes] | None = None

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[int, int],
        *,
        directory: Path | None = None,
        own_session: bool = False,
    ) -> None:
        super().__init__(
            nursery_of("tests.support.forked_agents"),
            arguments,
            environment,
            files,
            directory=directory,
            own_session=own_session,
        )


def fork_sandboxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the app server start some agent servers by a fork, until the test ends. These are the agent
    servers of process sandboxes that are not isolated.
    """
    from app_server.sandbox_backends.process import agent_server_process

    spawn = agent_server_process._spawn

    def fork(launch: Any, log: IO[bytes]) -> Any:
        if launch.tells_init or [*launch.command[1:4]] != _COMMAND:
            return spawn(launch, log)
        reading, writing = os.pipe()
        listener = launch.listener.fileno()
        with os.fdopen(reading, "rb"):
            child = ForkedAgentServer(
                launch.command[4:],
                launch.environment,
                {0: reading, 1: log.fileno(), 2: log.fileno(), listener: listener},
                directory=launch.directory,
                own_session=True,
            )
        child.stdin = os.fdopen(writing, "wb")
        return child, None

    monkeypatch.setattr(agent_server_process, "_spawn", fork)


def _load() -> None:
    from agent_runtime.server.startup.lazy_modules import leave_out_unused

    leave_out_unused()
    for name in _MODULES:
        importlib.import_module(name)


def _main(orders: socket.socket) -> None:
    if (arguments := load_and_fork(orders, _load)) is not None:
        from agent_runtime.server.__main__ import main

        sys.argv = ["agent_runtime.server", *arguments]
        main()


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
