"""Tests of the audit stream: the app server sends the audit log to a webhook or a syslog server, in order,
each entry at least once.
"""

import asyncio
import json
import select
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import update

from app_server.audit import retention
from app_server.audit.models import AuditEntry
from app_server.audit_stream.delivery import KIND, StreamDelivery
from app_server.audit_stream.models import AuditStream
from app_server.audit_stream.router import unsent_after
from app_server.audit_stream.syslog import message, send_stream
from app_server.callbacks.signing import signed_headers
from app_server.core.database import now
from app_server.core.jobs.policy import JobAttempt, TryAgain
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.saml_provider import write_key

ROOT = "/api/v1/audit-log/stream"
BROKEN = "closed|reset|EOF|Broken pipe|not connected"
ATTEMPT = JobAttempt(job_id=uuid4(), kind=KIND, payload={}, key=None, number=1, is_last=False)


class Receiver:
    """A TCP server that stores all that it receives. If `status` is set, it is an HTTP server and answers
    with this status.
    """

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.status: int | None = None

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0, ssl=tls)
        async with server:
            yield server.sockets[0].getsockname()[1]

    async def has_received(self) -> bool:
        return bool(self.received)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.status is None:
            self.received.append(await reader.read())
        else:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            self.received.append(head + await reader.readexactly(length))
            writer.write(f"HTTP/1.1 {self.status} x\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
        writer.close()


def delivery_of(app: App) -> StreamDelivery:
    return StreamDelivery(app.database, app.state["cipher"], app.state["http"])


async def make_entries(client: httpx.AsyncClient, count: int) -> None:
    for number in range(count):
        await client.post("/api/v1/secrets", json={"name": f"S{uuid4().hex}", "value": f"hidden {number}"})


def frames(sent: bytes) -> list[str]:
    found = []
    while sent:
        length, _, rest = sent.partition(b" ")
        found.append(rest[: int(length)].decode())
        sent = rest[int(length) :]
    return found


async def test_syslog_over_tcp_gets_each_entry_in_order_and_goes_on_after_an_outage(
    app: App, client: httpx.AsyncClient
) -> None:
    receiver, delivery = Receiver(), delivery_of(app)
    async with receiver.listening() as port:
        body = {"kind": "syslog_tcp", "address": f"127.0.0.1:{port}", "begins": "oldest"}
        assert (await client.put(ROOT, json=body)).json()["secret"] is None
        await make_entries(client, 3)
        await delivery.run(ATTEMPT)
    await make_entries(client, 2)
    with pytest.raises(TryAgain):
        await delivery.run(ATTEMPT)
    shown = (await client.get(ROOT)).json()["stream"]
    assert shown["error"]
    assert shown["failing_since"]
    assert shown["waiting"] == 2
    again = Receiver()
    async with again.listening() as port:
        async with app.database.session() as session:
            await session.execute(update(AuditStream).values(address=f"127.0.0.1:{port}"))
        # A worker of a restarted server continues at the stored position.
        await delivery_of(app).run(ATTEMPT)
    texts = frames(b"".join(receiver.received)) + frames(b"".join(again.received))
    assert all(text.startswith("<110>1 ") for text in texts)
    entries = [json.loads(text[text.index("{") :]) for text in texts]
    assert [one["id"] for one in entries] == list(range(1, len(entries) + 1))
    assert entries[-1]["action"] == "secret.created"
    assert "hidden" not in str(texts)
    shown = (await client.get(ROOT)).json()["stream"]
    assert (shown["waiting"], shown["error"], shown["failing_since"]) == (0, None, None)


def contexts(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Makes a certificate. Returns the TLS context of its server, and that of a client that trusts it."""
    write_key(directory)
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(directory / "idp.pem", directory / "idp.key")
    knows_it = ssl.create_default_context(cafile=str(directory / "idp.pem"))
    knows_it.check_hostname = False
    return of_server, knows_it


@contextmanager
def closing_receiver(tls: ssl.SSLContext | None, end: Callable[[socket.socket], None]) -> Iterator[int]:
    """Runs a receiver in a thread. It accepts one connection and calls `end` with it. Yields its port."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            if tls is None:
                end(connection)
                return
            with tls.wrap_socket(connection, server_side=True) as encrypted:
                end(encrypted)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def close_at_once(connection: socket.socket) -> None:
    """Closes without a close_notify, as a receiver that ends abruptly."""


def close_at_once_with_a_notice(connection: socket.socket) -> None:
    if isinstance(connection, ssl.SSLSocket):
        connection.setblocking(False)
        with suppress(OSError):
            connection.unwrap()  # sends the close_notify


def read_one_piece(connection: socket.socket) -> None:
    connection.recv(1000)


def end_first_over_tls(connection: socket.socket) -> None:
    """Sends the close_notify after one piece, but closes the connection only after the sender."""
    assert isinstance(connection, ssl.SSLSocket)
    connection.recv(1000)
    connection.setblocking(False)
    with suppress(OSError):
        connection.unwrap()
    ended = select.poll()
    ended.register(connection, select.POLLRDHUP)
    assert ended.poll(PATIENCE_SECONDS * 1000)


def end_first_over_tcp(connection: socket.socket) -> None:
    """Ends its side after one piece, and drops all that comes later."""
    connection.recv(1000)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass


def read_all_and_close_without_a_notice(connection: socket.socket) -> None:
    while connection.recv(1000):
        pass


@pytest.mark.parametrize("is_encrypted", [True, False], ids=["tls", "tcp"])
@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize("end", [close_at_once, close_at_once_with_a_notice, read_one_piece])
async def test_messages_to_a_receiver_that_closes_early_are_not_delivered(
    tmp_path: Path, end: Callable[[socket.socket], None], size: int, is_encrypted: bool
) -> None:
    of_server, knows_it = contexts(tmp_path) if is_encrypted else (None, None)
    sent = [message(now(), "test", "x" * size)] * 30
    with closing_receiver(of_server, end) as port, pytest.raises(OSError, match=BROKEN):
        await send_stream("127.0.0.1", port, sent, knows_it)


@pytest.mark.parametrize(("end", "size"), [(end_first_over_tls, 3000), (end_first_over_tcp, 500_000)])
async def test_messages_are_not_delivered_if_the_receiver_ends_before_the_sender(
    tmp_path: Path, end: Callable[[socket.socket], None], size: int
) -> None:
    of_server, knows_it = contexts(tmp_path) if end is end_first_over_tls else (None, None)
    sent = [message(now(), "test", "x" * size)] * 30
    with closing_receiver(of_server, end) as port, pytest.raises(OSError, match=BROKEN):
        await send_stream("127.0.0.1", port, sent, knows_it)


@pytest.mark.parametrize("is_encrypted", [True, False], ids=["tls", "tcp"])
async def test_messages_to_a_receiver_that_sends_no_notice_at_the_end_are_delivered(
    tmp_path: Path, is_encrypted: bool
) -> None:
    of_server, knows_it = contexts(tmp_path) if is_encrypted else (None, None)
    sent = [message(now(), "test", "x" * 200_000)] * 30
    with closing_receiver(of_server, read_all_and_close_without_a_notice) as port:
        await send_stream("127.0.0.1", port, sent, knows_it)


async def test_syslog_over_tls_arrives_whole_and_goes_to_no_server_with_an_unknown_certificate(
    app: App, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    of_server, knows_it = contexts(tmp_path)
    receiver = Receiver()
    async with receiver.listening(of_server) as port:
        sent = [message(now(), "test", "x" * 100_000), message(now(), "test", "y")]
        await send_stream("127.0.0.1", port, sent, knows_it)
        await eventually(receiver.has_received)
        body = {"kind": "syslog_tls", "address": f"127.0.0.1:{port}", "begins": "oldest"}
        (await client.put(ROOT, json=body)).raise_for_status()
        with pytest.raises(TryAgain, match="CERTIFICATE_VERIFY_FAILED"):
            await delivery_of(app).run(ATTEMPT)
    assert [frame.encode() for frame in frames(receiver.received[0])] == sent


async def test_a_webhook_is_signed_and_is_called_again_until_it_takes_the_entries(
    app: App, client: httpx.AsyncClient
) -> None:
    receiver, delivery = Receiver(), delivery_of(app)
    receiver.status = 503
    async with receiver.listening() as port:
        address = f"http://127.0.0.1:{port}/audit?token=t"
        secret = (await client.put(ROOT, json={"kind": "webhook", "address": address})).json()["secret"]
        await make_entries(client, 2)
        with pytest.raises(TryAgain, match="503"):
            await delivery.run(ATTEMPT)
        assert_problem(await client.post(f"{ROOT}/test"), 502, "audit_stream_failed")
        receiver.status = 200
        assert (await client.post(f"{ROOT}/test")).status_code == 204
        await delivery.run(ATTEMPT)
    first, last = receiver.received[0], receiver.received[-1]
    head, _, content = last.partition(b"\r\n\r\n")
    headers = {
        name.lower(): value
        for name, value in (line.split(": ", 1) for line in head.decode().splitlines()[1:])
    }
    expected = signed_headers(headers["webhook-id"], int(headers["webhook-timestamp"]), content, [secret])
    assert headers["webhook-signature"] == expected["webhook-signature"]
    sent = json.loads(content)
    assert first.partition(b"\r\n\r\n")[2] == content
    actions = [one["action"] for one in sent["data"]["entries"]]
    assert actions == ["audit_stream.changed", "secret.created", "secret.created"]
    assert "token=t" not in str(sent["data"]["entries"])


async def test_syslog_over_udp_sends_one_datagram_for_each_entry(app: App, client: httpx.AsyncClient) -> None:
    received: asyncio.Queue[bytes] = asyncio.Queue()

    class Datagrams(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            del addr
            received.put_nowait(data)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    await client.put(ROOT, json={"kind": "syslog_udp", "address": f"127.0.0.1:{port}"})
    await delivery_of(app).run(ATTEMPT)
    assert b'"audit_stream.changed"' in await asyncio.wait_for(received.get(), 5)
    transport.close()


async def test_entries_that_were_not_sent_outlive_the_retention_time(
    app: App, client: httpx.AsyncClient
) -> None:
    await client.put(ROOT, json={"kind": "syslog_tcp", "address": "127.0.0.1:9"})
    async with app.database.session() as session:
        await session.execute(update(AuditEntry).values(happened_at=now() - timedelta(days=9)))
    await retention.trim(app.database, 1, unsent_after)
    assert [one["action"] for one in (await client.get("/api/v1/audit-log")).json()["items"]]
    assert (await client.delete(ROOT)).status_code == 204
    assert_problem(await client.delete(ROOT), 404, "audit_stream_not_found")
    assert_problem(await client.post(f"{ROOT}/test"), 404, "audit_stream_not_found")
    assert (await client.get(ROOT)).json() == {"stream": None}


@pytest.mark.parametrize(
    ("kind", "address"), [("webhook", "ftp://x"), ("syslog_tcp", "host"), ("syslog_udp", "host:99999")]
)
async def test_wrong_addresses_are_refused(client: httpx.AsyncClient, kind: str, address: str) -> None:
    reply = await client.put(ROOT, json={"kind": kind, "address": address})
    assert reply.status_code == 422
