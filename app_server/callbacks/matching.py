"""Finds the callbacks that must run for new events of conversations. For each pair of an event and such a
callback, stores a delivery (a database row that names both) and a background job that runs the callback. The
caller stores the events in the same database transaction.
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
    event. `sets_off_tasks`: whether callbacks of the kind `task` run for these events. The caller passes
    False if a callback has started the conversation, or if it is a sub-conversation. So a `task` callback
    never causes a second one to run.
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
    The job's id is the delivery's `job_id`.

    The jobs of one user are divided into MAX_OF_USER queues, and all jobs of one callback are in the same
    queue. Only one job of each queue runs at a time. So slow receivers of one user do not delay the callbacks
    of other users.
    """
    payload = {"delivery_id": delivery.id.hex}
    key = f"callbacks:{callback.user_id.hex}:{callback.id.int % MAX_OF_USER}"
    await enqueue(session, KIND, payload, key=key, job_id=delivery.job_id)


def matches(callback: Callback, event: Mapping[str, Any]) -> bool:
    """Returns whether all four filters of the callback allow the event. An empty filter allows every event.

    The filters `kinds`, `sources` and `tools` contain the allowed values of the event's kind, source and tool
    name. The filter `statuses` allows only events that change the conversation's execution status to one of
    the listed statuses.
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
