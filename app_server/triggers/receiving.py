"""Accepts the webhook deliveries of git hosts. Each delivery is verified and stored. Later, a background job
handles the delivery.

A busy repository sends many deliveries at once. Therefore the deliveries that arrive during one database
transaction are stored together in the next transaction. The git host gets the reply to a delivery after the
transaction that stores the delivery has committed.
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID, uuid4

from sqlalchemy import Table, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.batches import Batches
from app_server.core.database import UNAVAILABLE, Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import NotAuthenticated, NotFound
from app_server.core.jobs.queue import NewJob, enqueue_all
from app_server.core.server_objects import from_server
from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.events import Headers, HostEvent
from app_server.git_hosts.webhooks.reading import read
from app_server.git_hosts.webhooks.signatures import verify
from app_server.triggers.models import Trigger, TriggerDelivery

KIND: Final = "triggers.handle"
_AT_ONCE: Final = 50

# Plain tables and ready statements: a host waits for these few.
_triggers, _deliveries = Trigger.__table__, TriggerDelivery.__table__
assert isinstance(_triggers, Table)
assert isinstance(_deliveries, Table)
_FIND = select(
    _triggers.c.id,
    _triggers.c.provider,
    _triggers.c.secret_encrypted,
    _triggers.c.previous_secret_encrypted,
    _triggers.c.previous_secret_until,
).where(_triggers.c.id.in_(bindparam("ids", expanding=True)))
_TOUCH = (
    update(_triggers).where(_triggers.c.id == bindparam("trigger")).values(last_delivery_at=bindparam("at"))
)
_REMEMBER: Final = {
    name: insert(_deliveries).on_conflict_do_nothing().returning(_deliveries.c.id)
    for name, insert in (("sqlite", sqlite_insert), ("postgresql", postgres_insert))
}


@dataclass(frozen=True)
class _Genuine:
    """A webhook delivery whose signature was verified, with the data to store in the database.

    `row`: the values of the delivery's database row. `job`: the background job that handles the delivery.
    Both are None if the delivery contains no event that Slipway uses.
    """

    trigger_id: UUID
    row: dict[str, Any] | None = None
    job: NewJob | None = None


class Receiving:
    """Accepts the webhook deliveries of git hosts for all triggers. Each app server has one object of this
    class. Deliveries that arrive at the same time are stored together.
    """

    def __init__(self, database: Database, cipher: Cipher) -> None:
        self._database = database
        self._cipher = cipher
        self._finding: Batches[UUID, Any] = Batches(self._find, at_most=_AT_ONCE)
        self._storing: Batches[_Genuine, None] = Batches(self._store_each, at_most=_AT_ONCE)

    async def receive(self, hook_id: UUID, headers: Headers, body: bytes) -> int:
        """Verifies and stores a webhook delivery of a git host, and returns the HTTP status of the reply. The
        status is 202, also if the same delivery was accepted before. For the test request (ping) of Bitbucket
        Data Center, which is not signed, the status is 200 and nothing is stored.

        `hook_id`: the id of the trigger. `body`: the bytes of the request body, as received. Raises NotFound
        if there is no such trigger. Raises NotAuthenticated `webhook_signature_wrong` if the signature is
        wrong. Raises BadRequest `webhook_not_json` if the body is not JSON. Raises BadRequest
        `webhook_too_large` if the body contains too many JSON values. Raises BadRequest `webhook_unreadable`
        if the body has an unexpected form.
        """
        trigger = await self._finding.do(hook_id)
        if trigger is None:
            raise _no_webhook()
        is_ping = headers.get("x-event-key") == "diagnostics:ping"
        if trigger.provider is GitProvider.BITBUCKET_DATA_CENTER and is_ping:
            return 200
        if not verify(trigger.provider, headers, body, self._secrets(trigger), time.time()):
            raise NotAuthenticated(
                "The signature of the webhook is wrong.",
                code="webhook_signature_wrong",
                fix="Give the git host the trigger's secret.",
            )
        events = read(trigger.provider, headers, body)
        await self._storing.do(_to_store(hook_id, events, body) if events else _Genuine(hook_id))
        return 202

    async def _find(self, hook_ids: Sequence[UUID]) -> list[Any]:
        async with self._database.brief_read() as session:
            found = {row.id: row for row in await session.execute(_FIND, {"ids": list(set(hook_ids))})}
        return [found.get(each) for each in hook_ids]

    def _secrets(self, trigger: Any) -> list[str]:
        found = [self._cipher.decrypt(trigger.secret_encrypted)]
        until = trigger.previous_secret_until
        if trigger.previous_secret_encrypted and until is not None and until > now():
            found.append(self._cipher.decrypt(trigger.previous_secret_encrypted))
        return found

    async def _store_each(self, genuine: Sequence[_Genuine]) -> list[Exception | None]:
        """Stores webhook deliveries in one transaction, or one by one if this transaction fails. So a
        delivery that cannot be stored does not affect the others.

        Returns a list with one value for each delivery, in the same order: None if the delivery is stored,
        otherwise the error for this delivery. Raises the error of the database if the database is not
        available, because then no delivery can be stored.
        """
        try:
            await self._store(genuine)
        except UNAVAILABLE:
            raise
        except DBAPIError as error:
            if len(genuine) == 1:
                # Its trigger was deleted meanwhile, or its content does not fit.
                return [_no_webhook() if isinstance(error, IntegrityError) else error]
            return [outcome for one in genuine for outcome in await self._store_each([one])]
        return [None] * len(genuine)

    async def _store(self, genuine: Sequence[_Genuine]) -> None:
        async with self._database.brief_session() as session:
            new = await _remember(session, [one.row for one in genuine if one.row is not None])
            jobs = [one.job for one in genuine if one.job is not None and one.job.id in new]
            await enqueue_all(session, KIND, jobs)
            # In one order, so that two servers do not wait for each other.
            touched = sorted({one.trigger_id for one in genuine})
            await session.execute(_TOUCH, [{"trigger": each, "at": now()} for each in touched])


ServerReceiving = Annotated[Receiving, from_server("receiving_deliveries")]


async def _remember(session: AsyncSession, rows: Sequence[dict[str, Any]]) -> set[UUID]:
    """Inserts the rows of webhook deliveries into the database, and returns the ids of the new rows. A
    delivery that is stored already is not stored again, and its id is not returned.
    """
    if not rows:
        return set()
    statement = _REMEMBER[session.get_bind().dialect.name]
    in_order = sorted(rows, key=lambda row: (row["trigger_id"], row["delivery_id"]))
    return set((await session.scalars(statement, in_order)).all())


def _no_webhook() -> NotFound:
    return NotFound("There is no such webhook.")


def _to_store(trigger_id: UUID, events: Sequence[HostEvent], body: bytes) -> _Genuine:
    first, row_id = events[0], uuid4()
    named = _plain(first.delivery_id)
    row = {
        "id": row_id,
        "trigger_id": trigger_id,
        # A long or missing id is replaced by a hash of the body. Two deliveries with the same body count as
        # one.
        "delivery_id": named if 0 < len(named) <= 200 else hashlib.sha256(body).hexdigest(),
        "event": first.kind,
        "actor": _plain(first.actor)[:200],
        "number": _number(first.number),
        # The order in which deliveries wait for their turn. The rows are stored in another order.
        "created_at": now(),
    }
    payload = {"delivery_id": row_id.hex, "events": [_stored(one) for one in events]}
    # One at a time: two events about one issue must not start two conversations.
    return _Genuine(trigger_id, row, NewJob(row_id, payload, key=f"{KIND}:{trigger_id.hex}"))


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
