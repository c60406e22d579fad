"""Stores, changes and lists the callbacks of a user, and the deliveries of events for these callbacks."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import httpx
from sqlalchemy import ColumnElement, and_, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.delivery import MAILTO, message_id
from app_server.callbacks.matching import enqueue_delivery
from app_server.callbacks.models import Callback, Delivery, Processor
from app_server.callbacks.schemas import (
    FILTER_NEEDED,
    WITH_FILTER,
    AddCallback,
    CallbackFilters,
    CallbackInfo,
    ChangeCallback,
    DeliveryInfo,
    DeliveryState,
)
from app_server.callbacks.signing import new_secret
from app_server.callbacks.tasks import task_of
from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.core.jobs.models import Job, JobState

MAX_CALLBACKS = 50
_OPEN = (JobState.WAITING, JobState.RUNNING)


async def callbacks_of(session: AsyncSession, user_id: UUID) -> list[Callback]:
    query = select(Callback).where(Callback.user_id == user_id).order_by(Callback.created_at, Callback.id)
    return list((await session.scalars(query)).all())


async def callback_of(session: AsyncSession, user_id: UUID, callback_id: UUID) -> Callback:
    """Returns the callback with this id. Raises NotFound if there is no such callback or if it belongs to
    another user.
    """
    callback = await session.get(Callback, callback_id)
    if callback is None or callback.user_id != user_id:
        raise NotFound("There is no such callback.")
    return callback


async def add(
    session: AsyncSession, cipher: Cipher, user_id: UUID, wanted: AddCallback
) -> tuple[Callback, str | None]:
    """Stores a new callback of the user. Returns the callback and its secret. The secret is None unless the
    callback is a webhook. Raises Conflict `too_many_callbacks` if the user has the maximum number of
    callbacks.
    """
    known = await callbacks_of(session, user_id)
    # Those that write the events of one conversation to the log come with its start.
    counted = [each for each in known if each.conversation_id is None or each.url_encrypted is not None]
    if len(counted) >= MAX_CALLBACKS:
        raise Conflict(
            f"You have {MAX_CALLBACKS} callbacks, which is the limit.",
            code="too_many_callbacks",
            fix="Delete one that you no longer need.",
        )
    address = f"{MAILTO}{wanted.email}" if wanted.email else wanted.url
    secret = new_secret() if wanted.processor is Processor.WEBHOOK else None
    callback = Callback(
        id=uuid4(),
        user_id=user_id,
        url_encrypted=address and cipher.encrypt(address),
        secret_encrypted=secret and cipher.encrypt(secret),
        is_enabled=True,
        created_at=now(),
        **wanted.model_dump(exclude={"url", "email"}),
    )
    session.add(callback)
    await session.flush()
    return callback, secret


def change(cipher: Cipher, callback: Callback, changes: ChangeCallback) -> None:
    """Changes those fields of a callback that have a value in `changes`. Changes only the object `callback`;
    the commit of the caller's session writes it to the database.

    Raises BadRequest `no_url` if there is a URL and the callback is not of the kind `webhook` or `chat`.
    Raises BadRequest `no_instructions` if there are instructions and the callback is not of the kind `task`.
    Raises BadRequest `no_filter` if all filters of a callback of the kind `chat`, `mail`, `comment` or `task`
    would be empty.
    """
    values = changes.model_dump(exclude_none=True)
    if "instructions" in values and callback.processor is not Processor.TASK:
        raise BadRequest("Only a task has instructions.", code="no_instructions")
    if (url := values.pop("url", None)) is not None:
        if callback.processor not in {Processor.WEBHOOK, Processor.CHAT}:
            raise BadRequest("Only a webhook and a chat have a url.", code="no_url")
        callback.url_encrypted = cipher.encrypt(url)
    if values.get("is_enabled"):
        callback.disabled_reason = None
    for name, value in values.items():
        setattr(callback, name, value)
    # Callbacks of older versions may have no filter. Their other fields can still be changed.
    filters = CallbackFilters.model_fields.keys()
    has_filter = any(getattr(callback, name) for name in filters)
    if values.keys() & filters and callback.processor in WITH_FILTER and not has_filter:
        raise BadRequest(FILTER_NEEDED, code="no_filter")


def rotate(cipher: Cipher, callback: Callback, keep: timedelta) -> str:
    """Gives a webhook callback a new secret and returns the new secret. `keep`: for how long messages are
    also signed with the previous secret; zero means not at all. Raises BadRequest `no_secret` if the callback
    is not a webhook.
    """
    if callback.secret_encrypted is None:
        raise BadRequest("Only a webhook has a secret.", code="no_secret")
    secret = new_secret()
    callback.previous_secret_encrypted = callback.secret_encrypted if keep else None
    callback.previous_secret_until = now() + keep if keep else None
    callback.secret_encrypted = cipher.encrypt(secret)
    return secret


async def deliveries(
    session: AsyncSession,
    callback: Callback,
    *,
    state: DeliveryState | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[DeliveryInfo]:
    """Returns one page of the callback's deliveries, the newest first. `state`: None means deliveries in all
    states. `before`: the time and the id of the last delivery on the previous page; None means the first
    page.
    """
    query = (
        select(Delivery, Job)
        .outerjoin(Job, Job.id == Delivery.job_id)
        .where(Delivery.callback_id == callback.id)
        .order_by(Delivery.created_at.desc(), Delivery.id.desc())
        .limit(limit)
    )
    if state is not None:
        query = query.where(_is_in(state))
    if before is not None:
        query = query.where(tuple_(Delivery.created_at, Delivery.id) < before)
    found = (await session.execute(query)).all()
    return [delivery_info(callback, delivery, job) for delivery, job in found]


async def redeliver(session: AsyncSession, callback: Callback, delivery_id: UUID) -> DeliveryInfo:
    """Delivers the event of an earlier delivery once more. Adds a new background job for the stored delivery,
    and returns the delivery. The header `webhook-id` has the same value as before.

    Raises NotFound if the callback has no such delivery. Raises Conflict `delivery_waits` if the delivery has
    not ended yet. Raises Conflict `callback_disabled` if the callback is disabled.
    """
    delivery = await session.get(Delivery, delivery_id, with_for_update=True)
    if delivery is None or delivery.callback_id != callback.id:
        raise NotFound("There is no such delivery.")
    if not callback.is_enabled:
        raise Conflict("The callback is disabled.", code="callback_disabled", fix="Enable it first.")
    job = await session.get(Job, delivery.job_id)
    if job is not None and job.state in _OPEN:
        raise Conflict("This delivery has not ended yet.", code="delivery_waits", fix="Wait for its outcome.")
    delivery.job_id, delivery.delivered_at, delivery.error = uuid4(), None, None
    await enqueue_delivery(session, callback, delivery)
    return delivery_info(callback, delivery, await session.get(Job, delivery.job_id))


def _is_in(state: DeliveryState) -> ColumnElement[bool]:
    is_open = Job.state.in_(_OPEN)
    if state is DeliveryState.DELIVERED:
        return Delivery.delivered_at.is_not(None)
    if state is DeliveryState.WAITING:
        return and_(Delivery.delivered_at.is_(None), is_open)
    return and_(Delivery.delivered_at.is_(None), or_(Job.id.is_(None), ~is_open))


def delivery_info(callback: Callback, delivery: Delivery, job: Job | None) -> DeliveryInfo:
    if delivery.delivered_at is not None:
        state = DeliveryState.DELIVERED
    else:
        state = DeliveryState.WAITING if job and job.state in _OPEN else DeliveryState.FAILED
    has_started = callback.processor is Processor.TASK and state is DeliveryState.DELIVERED
    return DeliveryInfo(
        id=delivery.id,
        message_id=message_id(delivery),
        conversation_id=delivery.conversation_id,
        seq=delivery.seq,
        event_kind=delivery.event_kind,
        state=state,
        attempts=delivery.attempts or 0,
        status_code=delivery.status_code,
        error=delivery.error,
        duration_ms=delivery.duration_ms,
        created_at=delivery.created_at,
        delivered_at=delivery.delivered_at,
        next_attempt_at=job.run_at if job and state is DeliveryState.WAITING else None,
        started_conversation_id=task_of(delivery.id) if has_started else None,
    )


def callback_info(cipher: Cipher, callback: Callback) -> CallbackInfo:
    address = callback.url_encrypted and cipher.decrypt(callback.url_encrypted)
    is_mail = callback.processor is Processor.MAIL
    host = httpx.URL(address).host if address and not is_mail else None
    email = address.removeprefix(MAILTO) if address and is_mail else None
    fields = CallbackInfo.model_fields.keys() - {"host", "email"}
    return CallbackInfo(**{name: getattr(callback, name) for name in fields}, host=host, email=email)
