"""A TCP proxy on loopback. A test can cut its connections, as a broken network does."""

import socket
import threading
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Forwards connections to `target_port`. Use it as `with CuttingProxy(port) as proxy`.

    A client connects to `proxy.port`; `proxy.cut()` cuts all open connections.
    """

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in self._open:
            end.close()

    def cut(self) -> None:
        with self._lock:
            for end in self._open:
                _shut(end)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            with self._lock:
                self.accepted += 1
                self._open += [near, far]
            self._start(self._copy, near, far)
            self._start(self._copy, far, near)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
        except OSError:
            pass  # cut
        _shut(source)
        _shut(target)

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
