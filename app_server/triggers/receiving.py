"""Accepts deliveries of git hosts: each is verified, remembered, and handed to one job."""

import hashlib
import time
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import NotAuthenticated, NotFound
from app_server.core.jobs.queue import enqueue
from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.events import Headers
from app_server.git_hosts.webhooks.reading import read
from app_server.git_hosts.webhooks.verifying import verify
from app_server.triggers.models import IncomingDelivery, IncomingHook

KIND: Final = "triggers.handle"
MAX_BODY_BYTES: Final = 1 << 20


async def receive(session: AsyncSession, cipher: Cipher, hook_id: UUID, headers: Headers, body: bytes) -> int:
    """Accepts a delivery and returns the status to answer: 202, also for one that was accepted before; 200
    for the unsigned ping of Bitbucket Data Center.

    `body`: as it arrived. Raises NotFound, NotAuthenticated `webhook_signature_wrong`, and the errors of
    reading.read.
    """
    hook = await session.get(IncomingHook, hook_id)
    if hook is None:
        raise NotFound("There is no such webhook.")
    is_ping = headers.get("x-event-key") == "diagnostics:ping"
    if hook.provider is GitProvider.BITBUCKET_DATA_CENTER and is_ping:
        return 200
    if not verify(hook.provider, headers, body, _secrets(cipher, hook), time.time()):
        raise NotAuthenticated("The signature of the webhook is wrong.", code="webhook_signature_wrong")
    events = read(hook.provider, headers, body)
    named = events[0].delivery_id if events else ""
    # Long ids and missing ones become a hash. Two deliveries with one body say the same.
    delivery_id = named if 0 < len(named) <= 200 else hashlib.sha256(body).hexdigest()
    hook.last_delivery_at = now()
    if events and await _is_new(session, hook_id, delivery_id):
        payload = {"hook_id": str(hook_id), "events": [one.model_dump(mode="json") for one in events]}
        await enqueue(session, KIND, payload, key=f"{KIND}:{hook_id}")
    return 202


async def _is_new(session: AsyncSession, hook_id: UUID, delivery_id: str) -> bool:
    """Remembers the delivery. False if it was known, also if another request stores it at the same time."""
    try:
        async with session.begin_nested():
            session.add(IncomingDelivery(id=uuid4(), hook_id=hook_id, delivery_id=delivery_id))
    except IntegrityError:
        return False
    return True


def _secrets(cipher: Cipher, hook: IncomingHook) -> list[str]:
    found = [cipher.decrypt(hook.secret_encrypted)]
    until = hook.previous_secret_until
    if hook.previous_secret_encrypted and until is not None and until > now():
        found.append(cipher.decrypt(hook.previous_secret_encrypted))
    return found
