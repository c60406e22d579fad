"""Sends the entries of the audit log to a receiver outside this server: in order, and each entry at least
once. Stores the id of the last entry that was sent.
"""

import ssl
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import httpx
import orjson
from sqlalchemy import select, update

from app_server.access.audit_schemas import AuditEntryInfo
from app_server.audit.actions import AuditOutcome
from app_server.audit.models import AuditEntry
from app_server.audit_stream import syslog
from app_server.audit_stream.models import STREAM_ID, AuditStream, StreamKind
from app_server.callbacks.signing import signed_headers
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.jobs.policy import JobAttempt, RetryPolicy, TryAgain
from app_server.core.version import VERSION
from app_server.http.certificates import public_authorities

KIND: Final = "audit_log.stream"
EVERY: Final = timedelta(seconds=10)
POLICY: Final = RetryPolicy(attempts=3, timeout=timedelta(minutes=2), at_once=1)
BATCH: Final = 100

_WORK_SECONDS: Final = 60.0
_TIMEOUT: Final = httpx.Timeout(15)


class StreamFailed(Exception):
    """The error that is raised when the receiver of the audit log did not accept entries. The message says
    why.
    """


@dataclass(frozen=True)
class StreamDelivery:
    """Sends the entries of the audit log to the receiver outside this server that an administrator has
    chosen.

    `http`: an HTTP client that can also call private addresses. This is safe because only administrators
    choose the receiver.
    """

    database: Database
    cipher: Cipher
    http: httpx.AsyncClient

    async def run(self, _attempt: JobAttempt) -> dict[str, Any]:
        """Sends the entries of the audit log that were not sent yet, in batches. Begins no further batch
        after _WORK_SECONDS; the next run of the job sends the rest. Does nothing if there is no receiver.

        Returns a dict with the key `sent`: the number of sent entries. Raises TryAgain, which makes the job
        run again, if the receiver does not accept a batch.
        """
        sent, began = 0, time.monotonic()
        while time.monotonic() - began < _WORK_SECONDS:
            async with self.database.read() as session:
                stream = await session.get(AuditStream, STREAM_ID)
                if stream is None:
                    return {"sent": sent}
                following = select(AuditEntry).where(AuditEntry.id > stream.sent_up_to)
                entries = list(await session.scalars(following.order_by(AuditEntry.id).limit(BATCH)))
            if not entries:
                break
            infos = [AuditEntryInfo.model_validate(one) for one in entries]
            try:
                await self.send(stream, infos)
            except StreamFailed as error:
                await self._note(stream, failing_since=stream.failing_since or now(), error=str(error)[:500])
                raise TryAgain(str(error)) from error
            last = entries[-1].id
            await self._note(stream, sent_up_to=last, sent_at=now(), failing_since=None, error=None)
            sent += len(entries)
        return {"sent": sent}

    async def send(self, stream: AuditStream, entries: list[AuditEntryInfo]) -> None:
        """Makes one attempt to send these entries of the audit log to its receiver. Raises StreamFailed if
        the receiver does not accept them. `stream`: the settings of the receiver.
        """
        messages = [
            syslog.message(
                one.happened_at,
                one.action,
                one.model_dump_json(),
                is_refusal=one.outcome is AuditOutcome.REFUSED,
            )
            for one in entries
        ]
        bodies = [one.model_dump(mode="json") for one in entries]
        await self._send(stream, messages, bodies, name=f"{entries[0].id}-{entries[-1].id}")

    async def send_test(self, stream: AuditStream) -> None:
        """Sends a test message, which is not an entry of the audit log, to the receiver of the audit log.
        Raises StreamFailed if the receiver does not accept the message. `stream`: the settings of the
        receiver.
        """
        body = {"test": True, "slipway": VERSION}
        text = orjson.dumps(body).decode()
        await self._send(stream, [syslog.message(now(), "test", text)], [body], name=f"test-{time.time_ns()}")

    async def _send(
        self, stream: AuditStream, messages: list[bytes], bodies: list[dict[str, Any]], *, name: str
    ) -> None:
        try:
            if stream.kind is StreamKind.WEBHOOK:
                await self._call(stream, bodies, name)
                return
            host, _, port = stream.address.rpartition(":")
            host = host.removeprefix("[").removesuffix("]")
            if stream.kind is StreamKind.SYSLOG_UDP:
                await syslog.send_datagrams(host, int(port), messages)
            else:
                tls = public_authorities() if stream.kind is StreamKind.SYSLOG_TLS else None
                await syslog.send_stream(host, int(port), messages, tls)
        except (OSError, TimeoutError, ssl.SSLError, httpx.HTTPError) as error:
            raise StreamFailed(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    async def _call(self, stream: AuditStream, bodies: list[dict[str, Any]], name: str) -> None:
        content = orjson.dumps({"type": "audit_log.entries", "data": {"entries": bodies}})
        key = self.cipher.decrypt(stream.secret_encrypted or "")
        headers = {
            **signed_headers(f"audit-{name}", int(time.time()), content, [key]),
            "content-type": "application/json",
            "user-agent": f"slipway/{VERSION}",
        }
        request = self.http.build_request(
            "POST", stream.address, content=content, headers=headers, timeout=_TIMEOUT
        )
        # The status counts. The body is not read, since it could have any size.
        reply = await self.http.send(request, stream=True, follow_redirects=False)
        await reply.aclose()
        if not reply.is_success:
            raise StreamFailed(f"The receiver answered {reply.status_code}.")

    async def _note(self, stream: AuditStream, **values: Any) -> None:
        """Stores the result of an attempt to send entries in the row of the receiver. `values`: the new
        values of the row's columns, for example the id of the last sent entry, or the error.

        `stream`: the row as it was before the attempt. Stores nothing if the row has changed since then,
        because an administrator has chosen another receiver or another attempt has sent entries.
        """
        async with self.database.session() as session:
            same = update(AuditStream).where(
                AuditStream.id == STREAM_ID,
                AuditStream.created_at == stream.created_at,
                AuditStream.sent_up_to == stream.sent_up_to,
            )
            await session.execute(same.values(**values))
