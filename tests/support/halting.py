"""Proxies for all connections that the start of a conversation uses. Each call is recorded and can be halted.

with Wires(tmp_path, git_port, stage_of) as wires:      # DOCKER_HOST = wires.engine_url
    wires.calls[hex]                         # the calls of a start so far, in order
    halt = wires.halt(hex, moment)           # call this before the conversation begins
    halt.reached.wait()                      # the start waits: before the call, or for its answer
    wires.end(halt, abandoned=True)          # call this after server.kill()

`hex` is the id of the conversation. The proxies stand in front of the Docker engine, the git host and the
agent servers. In the engine's answers, the address of a container is replaced by the address of its proxy.
"""

import http.client
import io
import json
import os
import re
import socket
import socketserver
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from app_server.sandbox_backends.docker.containers import AGENT_PORT
from app_server.sandbox_backends.docker.network import NETWORK
from tests.support.engine_proxy import REAL
from tests.support.http_wire import carry, closing, read_head, read_to_the_end
from tests.support.patience import PATIENCE_SECONDS

OUTPUT_POLL = "GET /api/bash/bash_events/search"
"""The app server repeats this request while a set-up script runs."""
_OF_SANDBOX = re.compile(r"slipway-sandbox-([0-9a-f]{32})")
_IDS = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")


@dataclass(frozen=True)
class Call:
    """One call in the start of a conversation. `nth`: 1 for the first successful request with this name in
    the stage, 2 for the second, and so on.
    """

    stage: str
    request: str
    nth: int

    def __str__(self) -> str:
        return f"{self.stage}: {self.request} #{self.nth}"


@dataclass(frozen=True)
class Moment:
    when: Literal["before", "after"]
    call: Call

    def __str__(self) -> str:
        return f"{self.when} {self.call}"


@dataclass(eq=False)
class Halt:
    moment: Moment
    reached: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    is_abandoned: bool = False


class Abandoned(Exception):
    """The error that is raised if the process that made a halted call was killed. The call is dropped."""


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    head: bytes

    @property
    def name(self) -> str:
        """The method and path, with ids replaced by `{id}`, so that the name is equal for all
        conversations.
        """
        path = re.sub(r"^/v[\d.]+", "", self.path.partition("?")[0])
        return f"{self.method} {_IDS.sub('{id}', path)}"

    @property
    def is_upgrade(self) -> bool:
        return b"\r\nupgrade:" in self.head.lower()


Place = tuple[socket.AddressFamily, Any]
"""A kind of socket, and an address of that kind."""


class Wires:
    """All proxies of a test. `made`: the containers and volumes that the Docker engine has created for
    conversations. `halts`: the newest halt of each conversation, by the id of the conversation.
    """

    def __init__(self, directory: Path, git_port: int, stage_of: Callable[[str], str]) -> None:
        self.calls: defaultdict[str, list[Call]] = defaultdict(list)
        self.made: set[str] = set()
        self._stage_of = stage_of
        self.halts: dict[str, Halt] = {}
        self._owners: dict[str, str] = {}
        self._agents: dict[str, _AgentWire] = {}
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._engine = _EngineWire(self, directory / "engine.sock")
        self._git = _GitWire(self, git_port)
        self.engine_url = f"unix://{directory / 'engine.sock'}"
        self.git_origin = f"http://127.0.0.1:{self._git.port}"

    def __enter__(self) -> Self:
        self._open.enter_context(self._engine.serving())
        self._open.enter_context(self._git.serving())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for halt in self.halts.values():
            self.end(halt, abandoned=True)
        self._open.close()

    def halt(self, conversation: str, moment: Moment) -> Halt:
        halt = self.halts[conversation] = Halt(moment)
        return halt

    def end(self, halt: Halt, *, abandoned: bool) -> None:
        """Ends a halt. abandoned: True if the calling process is dead, so that the halted call is dropped."""
        halt.is_abandoned = abandoned
        halt.ended.set()

    def pass_on(self, conversation: str, name: str, make: Callable[[], bytes]) -> bytes:
        """Calls `make`, records the call under `name`, and returns the answer. Halts the call if the
        conversation has a halt for it.

        A failed call is not recorded, because the app server repeats it. Raises Abandoned if the calling
        process was killed during the halt.
        """
        stage = self._stage_of(conversation)
        nth = sum((call.stage, call.request) == (stage, name) for call in self.calls[conversation]) + 1
        call = Call(stage, name, nth)
        self._reach(conversation, Moment("before", call))
        answer = make()
        if re.match(rb"HTTP/1.\d [23]", answer):
            self.calls[conversation].append(call)
            self._reach(conversation, Moment("after", call))
        return answer

    def own(self, container: str, conversation: str) -> None:
        self._owners[container] = conversation

    def owner(self, text: str) -> str | None:
        """Returns the id of the conversation whose sandbox container is named in the text. Returns None if
        the text names no such container.
        """
        if named := _OF_SANDBOX.search(text):
            return named[1]
        return next((owner for each, owner in self._owners.items() if each in text), None)

    def agent(self, conversation: str, address: str) -> str:
        """Returns the address of the proxy of the agent server at `address`. Starts the proxy if there is
        none.
        """
        with self._lock:
            wire = self._agents.get(conversation)
            if wire is None:
                wire = self._agents[conversation] = _AgentWire(self, conversation, len(self._agents) + 1)
                self._open.enter_context(wire.serving())
            wire.target = (socket.AF_INET, (address, AGENT_PORT))
        return wire.address

    def _reach(self, conversation: str, moment: Moment) -> None:
        halt = self.halts.get(conversation)
        if halt is None or halt.moment != moment or halt.ended.is_set():
            return
        halt.reached.set()
        halt.ended.wait(PATIENCE_SECONDS * 2)
        if halt.is_abandoned:
            raise Abandoned


class _Wire:
    """The base class of the proxies. Each connection to a proxy carries one request."""

    target: Place

    def __init__(self, wires: Wires, server: socketserver.BaseServer) -> None:
        self.wires = wires
        self.server = server

    def serving(self) -> ExitStack:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        stack = ExitStack()
        stack.callback(self.server.server_close)
        stack.callback(self.server.shutdown)
        return stack

    def handle(self, client: socket.socket) -> None:
        head = read_head(client)
        if not head:
            return
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ", 2)
        request = Request(method, path, head)
        if request.is_upgrade or not self.is_seen(request):
            with self._connected() as server:
                server.sendall(head if request.is_upgrade else closing(head))
                carry(server, client)
        else:
            client.sendall(self.answer(request, closing(head) + _rest_of_body(client, head)))

    def is_seen(self, request: Request) -> bool:
        return request.method not in {"GET", "HEAD"}

    def owner(self, request: Request, whole: bytes) -> str | None:
        """Returns the id of the conversation to which the request belongs. Returns None if it belongs to
        none.
        """
        raise NotImplementedError

    def answer(self, request: Request, whole: bytes) -> bytes:
        owner = self.owner(request, whole)
        return self.wires.pass_on(owner, request.name, lambda: self.ask(whole)) if owner else self.ask(whole)

    def ask(self, whole: bytes) -> bytes:
        with self._connected() as server:
            server.sendall(whole)
            return read_to_the_end(server)

    def _connected(self) -> socket.socket:
        family, address = self.target
        found = socket.socket(family)
        try:
            found.connect(address)
        except OSError:
            found.close()
            raise
        return found


class _EngineWire(_Wire):
    target = (socket.AF_UNIX, REAL)

    def __init__(self, wires: Wires, path: Path) -> None:
        super().__init__(wires, UnixServer(str(path), self.handle))

    def is_seen(self, request: Request) -> bool:
        return super().is_seen(request) or _is_inspection(request)

    def owner(self, request: Request, whole: bytes) -> str | None:
        # The name of a volume is in the body; the name of a new container is in the query.
        is_volume = request.name == "POST /volumes/create"
        return self.wires.owner(whole.decode(errors="replace") if is_volume else request.path)

    def answer(self, request: Request, whole: bytes) -> bytes:
        if _is_inspection(request):
            return self._through_us(self.ask(whole))
        return super().answer(request, whole)

    def ask(self, whole: bytes) -> bytes:
        answer = super().ask(whole)
        start = whole.partition(b"\r\n")[0].decode()
        if answer.startswith(b"HTTP/1.1 201") and "/volumes/create" in start:
            self.wires.made.add(str(_body_of(answer)["Name"]))
        if answer.startswith(b"HTTP/1.1 201") and "/containers/create" in start:
            made = str(_body_of(answer)["Id"])
            self.wires.made.add(made)
            if owner := self.wires.owner(start):
                self.wires.own(made, owner)
        return answer

    def _through_us(self, answer: bytes) -> bytes:
        """Returns the Docker engine's answer about a container, changed so that clients reach the agent
        server through the proxy: the address of the agent server is replaced by the address of its proxy.
        """
        if not answer.startswith(b"HTTP/1.1 200"):
            return answer
        found = _body_of(answer)
        owner = self.wires.owner(found["Name"])
        place = found["NetworkSettings"]["Networks"].get(NETWORK, {})
        if owner and place.get("IPAddress"):
            place["IPAddress"] = self.wires.agent(owner, place["IPAddress"])
        content = json.dumps(found).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        return head.encode() + b"Connection: close\r\n\r\n" + content


class _AgentWire(_Wire):
    def __init__(self, wires: Wires, conversation: str, number: int) -> None:
        # The address belongs to this process alone, because tests may run in parallel.
        self.address = f"127.{os.getpid() % 250 + 2}.{number // 250}.{number % 250 + 1}"
        self._conversation = conversation
        super().__init__(wires, _TcpServer((self.address, AGENT_PORT), self.handle))

    def is_seen(self, request: Request) -> bool:
        return super().is_seen(request) or request.name == OUTPUT_POLL

    def owner(self, request: Request, whole: bytes) -> str | None:
        return self._conversation


class _GitWire(_Wire):
    """The proxy of the git host. Each repository has the id of its conversation as its name."""

    def __init__(self, wires: Wires, port: int) -> None:
        server = _TcpServer(("127.0.0.1", 0), self.handle)
        super().__init__(wires, server)
        self.port: int = server.server_address[1]
        self.target = (socket.AF_INET, ("127.0.0.1", port))

    def is_seen(self, request: Request) -> bool:
        return True

    def owner(self, request: Request, whole: bytes) -> str | None:
        named = re.search(r"/([0-9a-f]{32})\.git/", request.path)
        return named[1] if named else None


Handle = Callable[[socket.socket], None]


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        # The client or the server may be killed at any time; the other side sees a closed connection.
        with suppress(OSError, Abandoned):
            self.server.carry_out(self.request)  # type: ignore[attr-defined]


class _TcpServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], carry_out: Handle) -> None:
        self.carry_out = carry_out
        super().__init__(address, _Handler)


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, carry_out: Handle) -> None:
        self.carry_out = carry_out
        super().__init__(address, _Handler)


def _is_inspection(request: Request) -> bool:
    return re.fullmatch(r"GET /containers/[^/]+/json", request.name) is not None


def _rest_of_body(client: socket.socket, head: bytes) -> bytes:
    """Returns the part of the body that was not received together with the head."""
    fields, _, begun = head.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", fields)
    missing = int(length[1]) - len(begun) if length else 0
    rest = b""
    while len(rest) < missing:
        piece = client.recv(missing - len(rest))
        if not piece:
            raise ConnectionError("the client went away")
        rest += piece
    return rest


class _Said(io.BytesIO):
    """An object that contains a received HTTP answer and behaves like a socket, because http.client reads
    answers only from sockets.
    """

    def makefile(self, _mode: str) -> io.BytesIO:
        return self


def _body_of(answer: bytes) -> dict[str, Any]:
    response = http.client.HTTPResponse(_Said(answer))  # type: ignore[arg-type]
    response.begin()
    found: dict[str, Any] = json.loads(response.read())
    return found
