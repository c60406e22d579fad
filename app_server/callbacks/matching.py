"""Finds the callbacks that must run for new events of conversations. For each pair of event and callback,
stores a delivery: the database row from which a background job runs the callback. Callers store the events in
the same database transaction.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.models import Callback, Delivery, Processor
from app_server.core.jobs.queue import enqueue
from app_server.users.colleagues import organisation_of
from app_server.users.models import ADMINISTRATORS, User

KIND = "callbacks.deliver"
MAX_OF_USER = 4


async def enqueue_matching(
    session: AsyncSession,
    user_id: UUID,
    conversation_id: UUID,
    events: Iterable[tuple[int, Mapping[str, Any]]],
    *,
    sets_off_tasks: bool,
) -> None:
    """Finds the callbacks that match new events of a conversation. For each pair of an event and a matching
    callback, stores a delivery (a database row that names both) and a background job that runs the callback.

    `user_id`: the owner of the conversation. `events`: pairs of the event's position in the log and the
    event. `sets_off_tasks`: whether callbacks of the kind `task` may start conversations. It is False for a
    conversation that a callback has started and for a sub-conversation, so that a task never starts another
    task.
    """
    # Callbacks for everyone end when their owner is no longer an administrator of this organisation.
    administrators = select(User.id).where(
        User.role.in_(ADMINISTRATORS),
        User.disabled_at.is_(None),
        User.organisation_id == organisation_of(user_id),
    )
    query = select(Callback).where(
        Callback.is_enabled,
        or_(
            Callback.user_id == user_id, and_(Callback.is_for_everyone, Callback.user_id.in_(administrators))
        ),
        or_(Callback.conversation_id.is_(None), Callback.conversation_id == conversation_id),
    )
    if not sets_off_tasks:
        query = query.where(Callback.processor != Processor.TASK)
    callbacks = (await session.scalars(query)).all()
    for seq, event in events if callbacks else ():
        for callback in callbacks:
            if matches(callback, event):
                await add_delivery(session, callback, conversation_id, seq, str(event["kind"]))


async def add_delivery(
    session: AsyncSession, callback: Callback, conversation_id: UUID, seq: int, kind: str
) -> Delivery:
    delivery = Delivery(
        id=uuid4(),
        callback_id=callback.id,
        conversation_id=conversation_id,
        seq=seq,
        event_kind=kind,
        job_id=uuid4(),
    )
    session.add(delivery)
    await enqueue_delivery(session, callback, delivery)
    return delivery


async def enqueue_delivery(session: AsyncSession, callback: Callback, delivery: Delivery) -> None:
    """Stores the background job that carries out the delivery (the sending of one event for one callback).
    The job's id is the delivery's `job_id`. Each callback has at most one running delivery. All callbacks of
    one user have at most MAX_OF_USER running deliveries, so that slow receivers of one user do not delay the
    callbacks of other users.
    """
    payload = {"delivery_id": delivery.id.hex}
    key = f"callbacks:{callback.user_id.hex}:{callback.id.int % MAX_OF_USER}"
    await enqueue(session, KIND, payload, key=key, job_id=delivery.job_id)


def matches(callback: Callback, event: Mapping[str, Any]) -> bool:
    """Returns whether each filter of the callback allows the event. An empty filter allows every event. The
    filter `statuses` contains execution statuses. If it is not empty, it allows only events that set one of
    these statuses.
    """
    return (
        _allows(callback.kinds, event.get("kind"))
        and _allows(callback.sources, event.get("source"))
        and _allows(callback.tools, event.get("tool_name"))
        and _allows(callback.statuses, _status_of(event))
    )


def _allows(wanted: list[Any], found: object) -> bool:
    return not wanted or found in wanted


def _status_of(event: Mapping[str, Any]) -> object:
    if event.get("kind") == "ConversationStateUpdateEvent" and event.get("key") == "execution_status":
        return event.get("value")
    return None
