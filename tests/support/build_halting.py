"""A proxy in front of the Docker engine that can halt an image build at each of its calls.

with BuildHalts(directory) as builds:                   # DOCKER_HOST = builds.url
    halt = builds.halt("before", "build base")
    halt.reached.wait()                                 # the build waits: before the call, or for its answer
    builds.end(halt)                                    # call this when the halted process is dead

The calls of a build are listed in tests/faults/test_killed_builds.py. A name that begins with
"look" belongs to the container with which the app server checks the base image before the build.
"""

import json
import re
import select
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import unquote

from tests.support.engine_proxy import REAL
from tests.support.halting import UnixServer
from tests.support.http_wire import PIECE, carry, closing, read_head
from tests.support.patience import PATIENCE_SECONDS

When = Literal["before", "after"]
BUILDS = {"slipway-base:": "build base", "-lock-": "build dependencies", "slipway-sandbox:": "build image"}
STREAMED = {"look attach", "look wait"}
"""Calls with a streamed answer. They cannot be halted after the call: the client needs the start of the
answer.
"""


@dataclass(eq=False)
class BuildHalt:
    when: When
    call: str
    reached: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


class BuildHalts:
    """A proxy in front of the Docker engine that can halt an image build. seen: the names of all calls that
    image builds have made, in order.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / "builds.sock"
        self.url = f"unix://{path}"
        self.seen: list[str] = []
        self._server = UnixServer(str(path), self._handle)
        self._halt: BuildHalt | None = None
        self._looks: set[str] = set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._halt:
            self._halt.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def halt(self, when: When, call: str) -> BuildHalt:
        """Sets a halt for the next call with this name, and returns the halt. when: whether the call is
        halted before or after the engine carries it out.
        """
        self._halt = BuildHalt(when, call)
        return self._halt

    def end(self, halt: BuildHalt) -> None:
        """Ends the halt. The halted call is dropped: it is not made, or its answer is not sent."""
        halt.ended.set()

    def _handle(self, client: socket.socket) -> None:
        head = read_head(client)
        if not head:
            return
        call = self._name(head)
        if call and self._is_halted("before", call):
            return
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(REAL)
            is_upgrade = b"\r\nupgrade:" in head.lower()
            engine.sendall(head if is_upgrade else closing(head))
            if call == "look attach":
                _stream(engine, client)
                return
            if call is None or call == "look wait":
                carry(engine, client)
                return
            answer = _answer(engine, client)
        if call == "look create" and (made := re.search(rb'\{"Id".*\}', answer)):
            self._looks.add(json.loads(made[0])["Id"])
        if not self._is_halted("after", call):
            client.sendall(answer)

    def _name(self, head: bytes) -> str | None:
        """Returns the name of the call if it belongs to an image build, otherwise None."""
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ", 2)
        if method != "POST":
            return None
        path = unquote(path)
        if "/build?" in path and (tag := re.search(r"[?&]t=([^&]+)", path)):
            return next(name for part, name in BUILDS.items() if part in tag[1])
        if "/containers/create?" in path and "slipway-look-" in path:
            return "look create"
        named = re.search(r"/containers/(\w+)/(\w+)", path)
        return f"look {named[2]}" if named and named[1] in self._looks else None

    def _is_halted(self, when: When, call: str) -> bool:
        """If a halt is set for this call, waits until the halt ends, and returns True. The test ends the halt
        after it has killed the calling process, so the call is then dropped. Returns False if no halt is set.
        """
        if when == "before":
            self.seen.append(call)
        halt = self._halt
        if halt is None or (halt.when, halt.call) != (when, call) or halt.ended.is_set():
            return False
        halt.reached.set()
        halt.ended.wait(PATIENCE_SECONDS * 2)
        return True


def _answer(engine: socket.socket, client: socket.socket) -> bytes:
    """Returns the whole answer of the engine. While it waits for the answer, it forwards the rest of the
    client's request to the engine.

    Raises ConnectionError if the client closes the connection.
    """
    answer, sources = b"", [engine, client]
    while True:
        for source in select.select(sources, [], [])[0]:
            piece = source.recv(PIECE)
            if source is engine:
                if not piece:
                    return answer
                answer += piece
            elif piece:
                engine.sendall(piece)
            else:
                raise ConnectionError("the client went away")


def _stream(engine: socket.socket, client: socket.socket) -> None:
    """Copies data in both directions until the engine closes the connection.

    A client without input closes its sending half at once; that does not end the copying.
    """
    sources = [engine, client]
    while True:
        for source in select.select(sources, [], [])[0]:
            piece = source.recv(PIECE)
            if source is engine:
                if not piece:
                    return
                client.sendall(piece)
            elif piece:
                engine.sendall(piece)
            else:
                engine.shutdown(socket.SHUT_WR)
                sources.remove(client)
