"""Starts and calls an agent server: Slipway's or the OpenHands agent server. Both have the same protocol and
are used in the same way.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from benchmarks import process
from benchmarks.script import PATIENCE_SECONDS, Script, ScriptedModel

KEY = "benchmark"
START_SECONDS = 180.0
_STOP_SECONDS = 30.0

# What has nothing to do with the work that is measured, or would look for the internet.
_WITHOUT_EXTRAS = {
    "OH_ENABLE_VSCODE": "false",
    "OH_ENABLE_BROWSER": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENHANDS_SUPPRESS_BANNER": "1",
}


@dataclass(frozen=True)
class Product:
    """An installed agent server. `name`: `ours` for Slipway, `peer` for the OpenHands agent server. `python`:
    its Python interpreter. `module`: the module that is run.
    """

    name: str
    python: Path
    module: str

    def environment(self, home: Path, workspace: Path) -> Mapping[str, str]:
        """Returns the environment variables for the agent server. All files that the server writes are below
        `home` or in `workspace`. Python may store the compiled code of a first start. So later starts, which
        are measured, do not include the time for compiling.
        """
        own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **own,
            **_WITHOUT_EXTRAS,
            "OH_SESSION_API_KEYS_0": KEY,
            "OH_CONVERSATIONS_PATH": str(home / "conversations"),
            "OH_WORKSPACE_PATH": str(workspace),
            "OH_BASH_EVENTS_DIR": str(home / "bash_events"),
            "OH_PERSISTENCE_DIR": str(home / "persistence"),
            "HOME": str(home),
            "TMUX_TMPDIR": str(home),
        }


class Server:
    """One process of an agent server. Its files remain when the process ends, so it can be started again. Use
    it in a `with` statement, or call `start` and `kill`.
    """

    _numbers = itertools.count()

    def __init__(self, product: Product, home: Path, model: ScriptedModel) -> None:
        self.product = product
        self.port = process.free_port()
        self._home = home
        self._workspace = home / "work"
        self._workspace.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"X-Session-API-Key": KEY},
            timeout=PATIENCE_SECONDS,
        )

    def start(self) -> float:
        """Starts the server and waits until it is healthy. Returns how many seconds this took. Raises
        TimeoutError if it takes longer than 180 seconds.
        """
        began = time.monotonic()
        command = [str(self.product.python), "-m", self.product.module]
        with (self._home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(self.port)],
                env=self.product.environment(self._home, self._workspace),
                stdout=log,
                stderr=log,
            )
        self._wait_until_healthy(began)
        return time.monotonic() - began

    def stop(self) -> None:
        """Ends the server in the normal way (SIGTERM), then kills all remaining processes of the server."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        process.end(self.pids)
        if self._process is not None:
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it has not been started"
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """The ids of all processes of the server."""
        return process.descendants(of=os.getpid(), but={self._model.pid})

    def cpu_seconds(self) -> float:
        """Returns the CPU seconds that all processes of the server have used since its start."""
        return process.cpu_seconds(self.pids)

    def create(self, script: Script, *, text: str | None = None) -> str:
        """Creates a conversation with a terminal and returns its id. `script`: the answers of the model in
        this conversation. `text`: the first message, which starts the agent; None means no message. Raises
        httpx.HTTPStatusError if the server refuses the conversation.
        """
        return str(self.post("/api/conversations", self._request(script, text))["id"])

    def send(self, conversation: str, text: str, *, run: bool = True) -> None:
        self.post(f"/api/conversations/{conversation}/events", {**_message(text), "run": run})

    def post(self, path: str, body: Any) -> Any:
        reply = self.http.post(path, json=body)
        reply.raise_for_status()
        return reply.json()

    def get(self, path: str, **params: Any) -> Any:
        reply = self.http.get(path, params=params)
        reply.raise_for_status()
        return reply.json()

    def wait_for_status(self, conversation: str, *wanted: str) -> None:
        while self.get(f"/api/conversations/{conversation}")["execution_status"] not in wanted:
            time.sleep(0.05)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.http.close()

    def _request(self, script: Script, text: str | None) -> dict[str, Any]:
        directory = self._workspace / f"conversation-{next(self._numbers)}"
        directory.mkdir()
        llm = {"model": "openai/scripted", "base_url": script.base_url, "api_key": "none"}
        return {
            "agent": {"kind": "Agent", "llm": llm, "tools": [{"name": "terminal"}]},
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(directory)},
            "max_iterations": 100_000,
            "stuck_detection": False,
            "autotitle": False,
            **({} if text is None else {"initial_message": {**_message(text), "run": True}}),
        }

    def _wait_until_healthy(self, began: float) -> None:
        while time.monotonic() < began + START_SECONDS:
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health", timeout=5).is_success:
                    return
            time.sleep(0.005)
        raise TimeoutError(f"{self.product.name} does not come up; see {self._home / 'server.log'}")


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}
