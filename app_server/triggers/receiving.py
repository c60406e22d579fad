"""Accepts deliveries of git hosts: each is verified, remembered, and handed to one job."""

import hashlib
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import NotAuthenticated, NotFound
from app_server.core.jobs.queue import enqueue
from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.events import Headers, HostEvent
from app_server.git_hosts.webhooks.reading import read
from app_server.git_hosts.webhooks.signatures import verify
from app_server.triggers.models import Trigger, TriggerDelivery

KIND: Final = "triggers.handle"


async def receive(database: Database, cipher: Cipher, hook_id: UUID, headers: Headers, body: bytes) -> int:
    """Accepts a delivery and returns the status to answer: 202, also for one that was accepted before; 200
    for the unsigned ping of Bitbucket Data Center.

    `hook_id`: of the trigger. `body`: as it arrived. Raises NotFound, NotAuthenticated
    `webhook_signature_wrong`, and the errors of reading.read.
    """
    # The database is locked for no longer than it takes to store what was verified and read.
    async with database.brief_read() as session:
        trigger = await session.get(Trigger, hook_id)
    if trigger is None:
        raise NotFound("There is no such webhook.")
    is_ping = headers.get("x-event-key") == "diagnostics:ping"
    if trigger.provider is GitProvider.BITBUCKET_DATA_CENTER and is_ping:
        return 200
    if not verify(trigger.provider, headers, body, _secrets(cipher, trigger), time.time()):
        raise NotAuthenticated(
            "The signature of the webhook is wrong.",
            code="webhook_signature_wrong",
            fix="Give the git host the trigger's secret.",
        )
    events = read(trigger.provider, headers, body)
    async with database.brief_session() as session:
        await session.execute(update(Trigger).where(Trigger.id == hook_id).values(last_delivery_at=now()))
        if events and (delivery := await _remember(session, trigger, events, body)):
            payload = {"delivery_id": delivery.hex, "events": [_stored(one) for one in events]}
            # One at a time: two events about one issue must not start two conversations.
            await enqueue(session, KIND, payload, key=f"{KIND}:{trigger.id.hex}", job_id=delivery)
    return 202


async def _remember(
    session: AsyncSession, trigger: Trigger, events: Sequence[HostEvent], body: bytes
) -> UUID | None:
    """Stores the delivery and returns the id of its row. None if it was known, also if another request stores
    it at the same time.
    """
    first, row_id = events[0], uuid4()
    named = _plain(first.delivery_id)
    row = TriggerDelivery(
        id=row_id,
        trigger_id=trigger.id,
        # Long ids and missing ones become a hash. Two deliveries with one body say the same.
        delivery_id=named if 0 < len(named) <= 200 else hashlib.sha256(body).hexdigest(),
        event=first.kind,
        actor=_plain(first.actor)[:200],
        number=_number(first.number),
    )
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        return None
    return row_id


def _number(number: int | None) -> int | None:
    return number if number is not None and 0 < number < 2**31 else None


def _stored(event: HostEvent) -> dict[str, Any]:
    found = event.model_copy(update={"number": _number(event.number)}).model_dump(mode="json")
    return {name: _plain(value) if isinstance(value, str) else value for name, value in found.items()} | {
        "paths": [_plain(path) for path in event.paths]
    }


def _plain(text: str) -> str:
    # PostgreSQL takes no null characters.
    return text.replace("\x00", "")


def _secrets(cipher: Cipher, trigger: Trigger) -> list[str]:
    found = [cipher.decrypt(trigger.secret_encrypted)]
    until = trigger.previous_secret_until
    if trigger.previous_secret_encrypted and until is not None and until > now():
        found.append(cipher.decrypt(trigger.previous_secret_encrypted))
    return found
