"""Routes by which administrators choose the receiver of the audit log, that is, the server to which all
entries are sent.
"""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.audit.models import HEAD_ID, AuditHead
from app_server.audit_stream.delivery import StreamDelivery, StreamFailed
from app_server.audit_stream.models import STREAM_ID, AuditStream, StreamKind
from app_server.callbacks.signing import new_secret
from app_server.core.database import ReadSession, ServerDatabase, Session, Timestamp
from app_server.core.encryption import ServerCipher
from app_server.core.errors import BadGateway, NotFound

router = APIRouter(prefix="/api/v1/audit-log/stream", tags=["Audit log"])

_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")


class SetAuditStream(BaseModel):
    """The request body that chooses the receiver of the audit log. `address`: a URL for webhooks, otherwise
    `HOST:PORT`. `begins`: `oldest` first sends all stored entries; `now` sends only entries that are added
    from now on.
    """

    model_config = ConfigDict(extra="forbid")

    kind: StreamKind
    address: Annotated[str, Field(min_length=1, max_length=2000)]
    begins: Literal["now", "oldest"] = "now"

    @model_validator(mode="after")
    def _address(self) -> "SetAuditStream":
        if self.kind is StreamKind.WEBHOOK:
            parts = urlsplit(self.address)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise ValueError("the address of a webhook is a URL with http or https")
        else:
            found = _HOST_AND_PORT.fullmatch(self.address)
            if found is None or not 1 <= int(found["port"]) <= 65535:
                raise ValueError("the address of a syslog server is HOST:PORT")
        return self


class AuditStreamInfo(BaseModel):
    """The receiver of the audit log. `sent_up_to`: the id of the last entry that the receiver has accepted.
    `waiting`: how many entries are not sent yet. `failing_since`: since when attempts to send fail. `error`:
    why the last attempt failed. Both are null if the last attempt succeeded.
    """

    model_config = ConfigDict(from_attributes=True)

    kind: StreamKind
    address: str
    sent_up_to: int
    waiting: int
    sent_at: Timestamp | None
    failing_since: Timestamp | None
    error: str | None


class CurrentAuditStream(BaseModel):
    """The reply with the present receiver of the audit log. `stream`: null if the audit log is
    sent nowhere.
    """

    stream: AuditStreamInfo | None


class NewAuditStream(AuditStreamInfo):
    """The reply after a receiver of the audit log was chosen. `secret`: the key that signs webhooks, in the
    format of Standard Webhooks; null for syslog. The key is shown only in this reply.
    """

    secret: str | None


@router.get("")
async def get_audit_stream(session: ReadSession) -> CurrentAuditStream:
    stream = await session.get(AuditStream, STREAM_ID)
    return CurrentAuditStream(stream=stream and await _info(session, stream))


@router.put("")
async def set_audit_stream(
    trail: CurrentTrail, session: Session, cipher: ServerCipher, body: SetAuditStream
) -> NewAuditStream:
    """Makes the server send the audit log to this receiver. A receiver that was set earlier gets no more
    entries. Entries are sent in order, each at least once. Entries that are not sent yet stay stored, even if
    they are older than the retention time of the audit log.
    """
    head = await session.get_one(AuditHead, HEAD_ID)
    known = await session.get(AuditStream, STREAM_ID)
    if known is not None:
        await session.delete(known)
        await session.flush()
    secret = new_secret() if body.kind is StreamKind.WEBHOOK else None
    stream = AuditStream(
        kind=body.kind,
        address=body.address,
        secret_encrypted=secret and cipher.encrypt(secret),
        sent_up_to=head.last_id if body.begins == "now" else head.anchor_id,
    )
    session.add(stream)
    await session.flush()
    # A URL may hold a token, so only its host goes into the log.
    host = urlsplit(body.address).hostname if secret else body.address
    target = (AuditTarget.AUDIT_LOG, "stream")
    trail.record(session, AuditAction.AUDIT_STREAM_CHANGED, target, kind=body.kind, address=host)
    return NewAuditStream(**(await _info(session, stream)).model_dump(), secret=secret)


@router.delete("", status_code=204)
async def delete_audit_stream(trail: CurrentTrail, session: Session) -> None:
    """Stops sending the audit log to its receiver. 404 `audit_stream_not_found` if there is no receiver."""
    await session.delete(await _stream(session))
    trail.record(session, AuditAction.AUDIT_STREAM_DELETED, (AuditTarget.AUDIT_LOG, "stream"))


@router.post("/test", status_code=204)
async def test_audit_stream(database: ServerDatabase, cipher: ServerCipher, request: Request) -> None:
    """Sends a test message to the receiver of the audit log at once. The message is not an entry of the audit
    log.

    404 `audit_stream_not_found` if there is no receiver. 502 `audit_stream_failed` if the receiver does not
    accept the message.
    """
    async with database.read() as session:
        stream = await _stream(session)
    try:
        await StreamDelivery(database, cipher, request.state.http).send_test(stream)
    except StreamFailed as error:
        raise BadGateway(
            f"The receiver did not take the message. {error}",
            code="audit_stream_failed",
            fix="Check its address, and whether this server may reach it.",
        ) from None


async def unsent_after(session: AsyncSession) -> int | None:
    """Returns the id of the last audit log entry that was sent to the receiver (the outside server that gets
    all entries). Returns None if there is no receiver.

    The job that deletes old entries keeps all entries after this one, because they must still be sent.
    """
    position: int | None = await session.scalar(select(AuditStream.sent_up_to))
    return position


async def _stream(session: AsyncSession) -> AuditStream:
    stream = await session.get(AuditStream, STREAM_ID)
    if stream is None:
        raise NotFound("The audit log has no receiver.", code="audit_stream_not_found")
    return stream


async def _info(session: AsyncSession, stream: AuditStream) -> AuditStreamInfo:
    last: int = await session.scalar(select(AuditHead.last_id).where(AuditHead.id == HEAD_ID)) or 0
    shown = {name: getattr(stream, name) for name in AuditStreamInfo.model_fields if name != "waiting"}
    return AuditStreamInfo(**shown, waiting=max(0, last - stream.sent_up_to))
