"""Tests of the audit stream: the app server sends the audit log to a webhook or a syslog server, in order,
each entry at least once.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from tests.support.saml_provider import write_key

ROOT = "/api/v1/audit-log/stream"
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


async def test_syslog_over_tls_arrives_whole_and_goes_to_no_server_with_an_unknown_certificate(
    app: App, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    write_key(tmp_path)
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_server.load_cert_chain(tmp_path / "idp.pem", tmp_path / "idp.key")
    knows_it = ssl.create_default_context(cafile=str(tmp_path / "idp.pem"))
    knows_it.check_hostname = False
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
