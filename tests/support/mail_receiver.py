"""A mail server on loopback that keeps the messages it receives.

with MailReceiver() as mail:
    mail.port
    mail.replies.append("451 Later.")     # replies to the next RCPT commands; afterwards each is accepted
    mail.messages                         # recipients and text of each message
"""

import socketserver
import threading
from collections import deque
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Self, cast

from tests.support.patience import PATIENCE_SECONDS


class MailReceiver:
    def __init__(self) -> None:
        self.replies: deque[str] = deque()
        self.messages: list[tuple[list[str], EmailMessage]] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="mail receiver")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    receiver: MailReceiver


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        receiver, recipients = self.server.receiver, list[str]()
        self._say("220 receiver ready")
        while line := self.rfile.readline().decode().strip():
            word = line.split(" ", 1)[0].upper()
            if word == "RCPT" and receiver.replies:
                self._say(receiver.replies.popleft())
            elif word == "RCPT":
                recipients.append(line.partition("<")[2].partition(">")[0])
                self._say("250 Yes.")
            elif word == "DATA":
                self._say("354 Go on.")
                lines = iter(self.rfile.readline, b".\r\n")
                content = b"".join(each.removeprefix(b".") for each in lines)
                message = cast(EmailMessage, message_from_bytes(content, policy=policy.default))
                receiver.messages.append((recipients, message))
                self._say("250 Taken.")
            elif word == "QUIT":
                self._say("221 Bye.")
                return
            else:
                self._say("250 Yes.")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())
