"""Checks that each event is delivered to a webhook, although its receiver refuses half of the calls and the
server is killed (kill -9) once.

    .venv/bin/python -m benchmarks.deliveries [EVENTS]

The receiver refuses each message once. After a third of the messages, the server is killed and started again.
The command fails if a message is lost. A message may arrive twice, if the server is killed after the call and
before it has stored the result. Calls that were running when the server was killed are repeated when their
lease (the time for which the killed server had reserved them) has ended.
"""

import asyncio
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from sqlalchemy import select

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from app_server.users.tokens import token_hash
from tests.support.server import AppServerProcess

EVENTS = 1_000
SECONDS = 600
_KEY = "benchmark-session"


class _Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = Counter[str]()
        self.accepted = Counter[str]()
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    server: _Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = self.headers["webhook-id"]
        with self.server.lock:
            self.server.calls[message] += 1
            is_accepted = self.server.calls[message] > 1
            if is_accepted:
                self.server.accepted[message] += 1
        self.send_response(200 if is_accepted else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name in the library)
        """Overrides the method of the library, so that requests are not logged."""


def main(events: int) -> None:
    receiver = _Receiver()
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with (
        tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory,
        AppServerProcess(Path(directory) / "home", sandbox="process") as server,
    ):
        with server.client() as client:
            wanted = {"name": "Half", "url": f"http://127.0.0.1:{receiver.server_port}/hook"}
            client.post("/callbacks", json=wanted).raise_for_status()
        conversation_id = asyncio.run(_conversation(Config(home=server.home)))
        began = time.monotonic()
        _report(server, conversation_id, events)
        _wait_for(receiver, events // 3)
        server.kill()
        print(
            f"killed after {time.monotonic() - began:.1f} s: {len(receiver.accepted)} of {events} delivered"
        )
        server.start()
        _wait_for(receiver, events)
        twice = sum(count > 1 for count in receiver.accepted.values())
        seconds, calls = time.monotonic() - began, receiver.calls.total()
        print(f"{len(receiver.accepted)} of {events} delivered after {seconds:.1f} s, none lost")
        print(f"{calls} calls, {twice} messages accepted twice")


def _wait_for(receiver: _Receiver, count: int) -> None:
    end = time.monotonic() + SECONDS
    while len(receiver.accepted) < count:
        if time.monotonic() > end:
            sys.exit(f"{len(receiver.accepted)} of {count} messages were delivered in {SECONDS} s.")
        time.sleep(0.05)


def _report(server: AppServerProcess, conversation_id: UUID, events: int) -> None:
    """Sends all events in one request to the app server, in the way in which the conversation's sandbox sends
    them.
    """
    frames = [
        {
            "type": "durable",
            "seq": seq,
            "event": {
                "id": f"event-{seq}",
                "kind": "MessageEvent",
                "source": "agent",
                "timestamp": "2026-11-20T20:55:11.603891",
                "llm_message": {"role": "assistant", "content": [{"type": "text", "text": f"Number {seq}"}]},
            },
        }
        for seq in range(1, events + 1)
    ]
    url = f"http://127.0.0.1:{server.inner_port}/api/v1/webhooks/events/{conversation_id.hex}"
    headers = {"X-Session-API-Key": _KEY}
    httpx.post(url, json={"frames": frames}, headers=headers, timeout=60).raise_for_status()


async def _conversation(config: Config) -> UUID:
    """Stores a conversation that has started, with a paused sandbox. Returns the id of the conversation."""
    database = Database(config.resolved_database_url)
    try:
        async with database.session() as session:
            owner = (await session.scalars(select(User.id).limit(1))).one()
            ids = {"id": (conversation_id := uuid4()), "user_id": owner}
            session.add(Conversation(**ids, sandbox_id=conversation_id, llm_profile="", last_seq=0))
            session.add(
                StartTask(
                    **ids,
                    sandbox_id=conversation_id,
                    status=StartStatus.READY,
                    request={},
                    stages=new_stages(),
                )
            )
            session.add(
                Sandbox(
                    **ids,
                    status=SandboxStatus.PAUSED,
                    session_key_hash=token_hash(_KEY),
                    encrypted_session_key="",
                    spec_id="process",
                )
            )
        return conversation_id
    finally:
        await database.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
