"""The benchmark's access to the scripted model: sets what the model answers, and reads when the model was
called.
"""

import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from uuid import uuid4

import httpx

from benchmarks.process import free_port, wait_for_port

PATIENCE_SECONDS = 1800.0


@dataclass(frozen=True)
class Times:
    """The times when the model received each request, and when it answered (monotonic clock, in seconds)."""

    asked: list[float]
    answered: list[float]


class Script:
    """The answers of the scripted model in one conversation. `base_url`: the URL at which the model is called
    for this conversation.
    """

    def __init__(self, http: httpx.Client, command: str, steps: int, holds: Collection[int]) -> None:
        self.key = uuid4().hex[:12]
        self.base_url = str(http.base_url.join(f"/plans/{self.key}/v1"))
        self.steps = steps
        self._http = http
        wanted = {"command": command, "steps": steps, "holds": sorted(holds)}
        http.put(f"/plans/{self.key}", json=wanted).raise_for_status()

    def wait_for(self, step: int, *, within: float = PATIENCE_SECONDS) -> Times:
        """Waits until the model has received the request of this step, and returns the times of all requests
        so far. Raises httpx.ReadTimeout if this takes longer than `within` seconds.
        """
        return Times(**self._http.get(f"/plans/{self.key}/asked/{step}", timeout=within).json())

    def wait_for_end(self, *, within: float = PATIENCE_SECONDS) -> Times:
        """Waits until the model has received its last request, and returns the times of all requests. Raises
        httpx.ReadTimeout if this takes longer than `within` seconds.
        """
        return self.wait_for(self.steps, within=within)

    def release(self, step: int) -> None:
        self._http.post(f"/plans/{self.key}/release/{step}").raise_for_status()

    def times(self) -> Times:
        return Times(**self._http.get(f"/plans/{self.key}").json())


class ScriptedModel:
    """The process of the scripted model. It starts when the object is created, and ends when the `with` block
    ends.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self._process = subprocess.Popen([sys.executable, "-m", "benchmarks.model", str(self.port)])
        wait_for_port(self.port)
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def script(self, *, steps: int, command: str = "true {step}", holds: Collection[int] = ()) -> Script:
        return Script(self._http, command, steps, holds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        self._process.terminate()
        self._process.wait()
