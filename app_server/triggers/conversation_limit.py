"""Limits the number of active conversations that a user's triggers have started for one repository. When the
limit is reached, new webhook deliveries (requests of the git host) wait until the agent of one of these
conversations stops working. The deliveries of a trigger continue in the order in which they arrived.

A waiting delivery is a job of the kind `triggers.held`. When it continues, a job of `triggers.handle`
takes its place. Both jobs have the time `created_at` of the delivery. The queue and its order are in the
database, so they outlive the app server.
"""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from sqlalchemy import ColumnElement, exists, func, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.core.database import Database, now
from app_server.core.jobs.models import Job, JobState
from app_server.core.jobs.policy import Handler, JobAttempt
from app_server.core.jobs.queue import enqueue, wake_after_commit
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.triggers.models import DeliveryResult, Trigger, TriggerDelivery, TriggeredConversation
from app_server.triggers.receiving import KIND as HANDLE_KIND

HELD_KIND: Final = "triggers.held"
MAX_HELD: Final = 100
AT_REST: Final = ("finished", "error", "stuck", "paused")
_UP: Final = (SandboxStatus.STARTING, SandboxStatus.RUNNING)
_LOOK_AGAIN: Final = timedelta(minutes=10)
_RELEASED_AT_ONCE = 3
_PRIORITY_OF_HELD = 1
"""The priority of jobs that handle a delivery which has waited. They run before those of new deliveries."""


async def at_work(session: AsyncSession, trigger: Trigger) -> int:
    """Returns the number of active conversations that this trigger, or another trigger of its user for the
    same repository, has started. A conversation is active while it starts. After that, it is active while its
    agent works or waits for the user, in a sandbox that runs or is being started. An agent whose sandbox is
    paused, archived, broken or deleted does not work, whatever its last report says.
    """
    is_starting = StartTask.status.not_in((StartStatus.READY, StartStatus.ERROR))
    is_up = exists().where(Sandbox.id == Conversation.sandbox_id, Sandbox.status.in_(_UP))
    query = (
        select(func.count())
        .select_from(TriggeredConversation)
        .join(Trigger, Trigger.id == TriggeredConversation.trigger_id)
        .join(Conversation, Conversation.id == TriggeredConversation.conversation_id)
        .join(StartTask, StartTask.id == Conversation.id)
        .where(
            Trigger.user_id == trigger.user_id,
            Trigger.origin == trigger.origin,
            Trigger.repository == trigger.repository,
            Conversation.deleted_at.is_(None),
            StartTask.status != StartStatus.ERROR,
            or_(is_starting, is_up),
            or_(Conversation.execution_status.is_(None), Conversation.execution_status.not_in(AT_REST)),
        )
    )
    return await session.scalar(query) or 0


async def waiting(session: AsyncSession, trigger: Trigger) -> int:
    """Returns the number of this trigger's webhook deliveries (requests of the git host) that wait until the
    trigger may start another conversation. They wait because too many conversations are active.
    """
    query = (
        select(func.count())
        .select_from(Job)
        .where(Job.kind == HELD_KIND, Job.key == _key(trigger.id), Job.state == JobState.WAITING)
    )
    return await session.scalar(query) or 0


async def ahead(session: AsyncSession, delivery: TriggerDelivery) -> int:
    """Returns the number of older webhook deliveries of the same trigger that wait for their turn, or whose
    turn has come and that are not handled yet.
    """
    trigger_id = delivery.trigger_id
    is_continued = (Job.key == _handle_key(trigger_id)) & (Job.priority == _PRIORITY_OF_HELD)
    query = (
        select(func.count())
        .select_from(Job)
        .where(
            or_(Job.key == _key(trigger_id), is_continued),
            Job.kind.in_((HELD_KIND, HANDLE_KIND)),
            Job.state.in_((JobState.WAITING, JobState.RUNNING)),
            Job.created_at < delivery.created_at,
        )
    )
    return await session.scalar(query) or 0


async def hold(session: AsyncSession, trigger_id: UUID, attempt: JobAttempt, reason: str) -> None:
    """Makes a webhook delivery wait until its trigger may start another conversation. The delivery is handled
    again after ten minutes at the latest.

    `attempt`: the attempt to handle the delivery. `reason`: a sentence that says why the delivery waits; the
    user sees it in the list of deliveries.
    """
    job_id = uuid5(attempt.job_id, HELD_KIND)
    if await is_continued(session, attempt.job_id):
        return  # the server ended before it had noted that the attempt has ended
    delivery = await session.get(TriggerDelivery, UUID(attempt.payload["delivery_id"]))
    if delivery is None:
        return
    delivery.state, delivery.reason = DeliveryResult.WAITING, reason
    payload: dict[str, Any] = {
        "trigger_id": trigger_id.hex,
        "delivery": {**attempt.payload, "was_held": True},
    }
    await enqueue(
        session,
        HELD_KIND,
        payload,
        key=_key(trigger_id),
        run_at=now() + _LOOK_AGAIN,
        job_id=job_id,
        created_at=delivery.created_at,
    )


async def is_continued(session: AsyncSession, job_id: UUID) -> bool:
    """Returns whether another job continues with the webhook delivery of this job. The two kinds of jobs
    follow one another, see the text at the top of this module.
    """
    following = [uuid5(job_id, kind) for kind in (HELD_KIND, HANDLE_KIND)]
    return await session.scalar(select(Job.id).where(Job.id.in_(following)).limit(1)) is not None


async def release_waiting(session: AsyncSession, conversation_id: UUID) -> None:
    """Lets up to three waiting webhook deliveries continue, the oldest first, if the agent of this
    conversation has stopped working. Does nothing if no trigger has started the conversation.

    The deliveries belong to the trigger that has started the conversation, or to another trigger of the same
    user for the same repository. The limit counts the conversations of all these triggers together.
    """
    row = (
        await session.execute(
            select(Trigger, Conversation.execution_status, StartTask.status)
            .join(TriggeredConversation, TriggeredConversation.trigger_id == Trigger.id)
            .join(Conversation, Conversation.id == TriggeredConversation.conversation_id)
            .join(StartTask, StartTask.id == Conversation.id)
            .where(Conversation.id == conversation_id)
        )
    ).one_or_none()
    if row is None or not (row[1] in AT_REST or row[2] is StartStatus.ERROR):
        return
    trigger = row[0]
    same = select(Trigger.id).where(
        Trigger.user_id == trigger.user_id,
        Trigger.origin == trigger.origin,
        Trigger.repository == trigger.repository,
    )
    await _release(session, Job.key.in_([_key(one) for one in await session.scalars(same)]))


async def release_next(session: AsyncSession, trigger_id: UUID, *, before: datetime | None = None) -> None:
    """Lets up to three waiting webhook deliveries of this trigger continue, the oldest first.

    `before`: only deliveries that arrived before this time; None means all.
    """
    is_older = true() if before is None else Job.created_at < before
    await _release(session, (Job.key == _key(trigger_id)) & is_older)


async def _release(session: AsyncSession, chosen: ColumnElement[bool]) -> None:
    is_waiting = (Job.kind == HELD_KIND) & (Job.state == JobState.WAITING)
    oldest = select(Job.id).where(is_waiting, chosen).order_by(Job.created_at).limit(_RELEASED_AT_ONCE)
    ids = list(await session.scalars(oldest))
    if ids:
        await session.execute(update(Job).where(Job.id.in_(ids), is_waiting).values(run_at=now()))
        wake_after_commit(session)


def releaser(database: Database) -> Handler:
    """Returns the function that runs the background job for a webhook delivery that has waited (see `hold`).
    The function adds a new job of the kind `triggers.handle`, which handles the delivery again, before the
    deliveries that have not waited.
    """

    async def release(attempt: JobAttempt) -> None:
        job_id = uuid5(attempt.job_id, HANDLE_KIND)
        key = _handle_key(UUID(attempt.payload["trigger_id"]))
        async with database.session() as session:
            if not await is_continued(session, attempt.job_id):
                await enqueue(
                    session,
                    HANDLE_KIND,
                    attempt.payload["delivery"],
                    key=key,
                    priority=_PRIORITY_OF_HELD,
                    job_id=job_id,
                    created_at=(await session.get_one(Job, attempt.job_id)).created_at,
                )

    return release


def _key(trigger_id: UUID) -> str:
    return f"{HELD_KIND}:{trigger_id.hex}"


def _handle_key(trigger_id: UUID) -> str:
    return f"{HANDLE_KIND}:{trigger_id.hex}"
