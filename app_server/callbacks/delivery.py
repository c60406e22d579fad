"""Delivers events to the receivers of callbacks, for example to the URL of a webhook. Each attempt calls the
receiver once.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any, Final
from uuid import UUID

import httpx
import orjson
from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.comments import NO_TARGET, Commenting
from app_server.callbacks.models import Callback, Delivery, Processor
from app_server.callbacks.signing import signed_headers
from app_server.callbacks.tasks import StartTask, message_of_task, task_of, title_of_task
from app_server.callbacks.texts import EventDescription, describe_event, for_chat
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, BadGateway, TooManyRequests, Unavailable
from app_server.core.jobs.policy import GiveUp, JobAttempt, RetryPolicy, TryAgain
from app_server.core.mail.sending import Letter, MailFailed, MailRefused, send
from app_server.core.mail.server import MailServer
from app_server.core.version import VERSION
from app_server.http.bounded_body import IDENTITY, beginning_of
from app_server.users.models import ADMINISTRATORS, User

logger = logging.getLogger(__name__)

POLICY: Final = RetryPolicy(
    attempts=14,
    first_pause=timedelta(seconds=5),
    longest_pause=timedelta(hours=3),
    timeout=timedelta(seconds=30),
    at_once=16,
)
FORGET_KIND: Final = "callbacks.forget_old"
FORGET_EVERY: Final = timedelta(hours=6)
RETENTION: Final = timedelta(days=30)

_TIMEOUT = httpx.Timeout(15.0)
_READ_BYTES = 1000
_READ_SECONDS = 5.0
_LONGEST_WAIT = timedelta(hours=3)
_PASSING = (BadGateway, TooManyRequests, Unavailable)

MAILTO: Final = "mailto:"

ReadTitle = Callable[[AsyncSession, UUID], Awaitable[str | None]]
"""A function that returns the title of a conversation. It returns None if the conversation has no title."""

ReadEvent = Callable[[AsyncSession, UUID, int], Awaitable[str | None]]
"""A function that returns the event at a position of a conversation's log as JSON text. It returns None if
the event no longer exists.
"""


@dataclass(frozen=True)
class _Work:
    delivery: Delivery
    callback: Callback
    user: User
    event: str
    title: str | None


class Deliveries:
    """Runs the background jobs that deliver events for callbacks.

    `http`: the HTTP client for callbacks of administrators of the installation; it can call any address.
    `guarded_http`: the HTTP client for callbacks of other users; it refuses private addresses. `read_event`,
    `read_title`: functions that read an event and the title of a conversation. `base_url`: the URL of
    Slipway's web pages.

    `mail_server`: sends the e-mails of `mail` callbacks. `commenting`: writes the comments of `comment`
    callbacks. `start_task`: a function that starts the conversations of `task` callbacks. If one of these
    three is None, deliveries for this kind of callback fail.
    """

    def __init__(
        self,
        database: Database,
        cipher: Cipher,
        http: httpx.AsyncClient,
        guarded_http: httpx.AsyncClient,
        read_event: ReadEvent,
        read_title: ReadTitle,
        base_url: str,
        mail_server: MailServer | None = None,
        commenting: Commenting | None = None,
        start_task: StartTask | None = None,
    ) -> None:
        self._database = database
        self._cipher = cipher
        self._http = http
        self._guarded_http = guarded_http
        self._read_event = read_event
        self._read_title = read_title
        self._base_url = base_url
        self._mail_server = mail_server
        self._commenting = commenting
        self._start_task = start_task

    async def deliver(self, attempt: JobAttempt) -> dict[str, Any] | None:
        """Tries once to deliver an event for a callback, and stores in the delivery's database row how the
        attempt ended. Returns a dict that the background job stores as its result.

        Delivers nothing if the event was delivered already, or if the delivery or its event no longer exists.
        The returned dict then has the key `skipped`, whose value is the reason.

        Raises TryAgain if the job should try again later. Raises GiveUp if further attempts cannot succeed,
        for example because the callback is disabled.
        """
        work = await self._load(UUID(attempt.payload["delivery_id"]))
        if work is None:
            return {"skipped": "deleted"}
        if work.user.disabled_at is not None or not work.callback.is_enabled:
            return await self._refuse(work, "The callback or its user is disabled.")
        if work.callback.is_for_everyone and work.user.role not in ADMINISTRATORS:
            return await self._refuse(work, "Only administrators receive the events of everyone.")
        if work.delivery.delivered_at is not None:
            return {"skipped": "delivered"}
        ways = {
            Processor.LOG: self._log,
            Processor.MAIL: self._mail,
            Processor.COMMENT: self._comment,
            Processor.TASK: self._task,
        }
        return await ways.get(work.callback.processor, self._call)(work)

    async def forget_old(self, _attempt: JobAttempt) -> None:
        """Deletes delivery rows (each records the run of one callback for one event) that are older than
        RETENTION (30 days).
        """
        async with self._database.session() as session:
            await session.execute(delete(Delivery).where(Delivery.created_at < now() - RETENTION))

    async def _load(self, delivery_id: UUID) -> _Work | None:
        async with self._database.read() as session:
            delivery = await session.get(Delivery, delivery_id)
            if delivery is None:
                return None
            callback = await session.get_one(Callback, delivery.callback_id)
            user = await session.get_one(User, callback.user_id)
            event = await self._read_event(session, delivery.conversation_id, delivery.seq)
            title = await self._read_title(session, delivery.conversation_id)
        return None if event is None else _Work(delivery, callback, user, event, title)

    async def _mail(self, work: _Work) -> dict[str, Any]:
        recipient, server = self._address(work.callback).removeprefix(MAILTO), self._mail_server
        if server is None:
            return await self._refuse(work, "This server cannot send e-mail.")
        if not work.user.administers_installation and not server.may_write_to(recipient):
            return await self._refuse(work, "Only administrators may write to this address.")
        began = time.monotonic()
        try:
            await send(server, self._letter(work, recipient))
        except MailRefused as error:
            return await self._refuse(work, str(error))
        except MailFailed as error:
            await self._note(work, None, str(error), began)
            raise TryAgain(str(error), None) from error
        await self._note(work, None, None, began)
        return {"mailed": True}

    async def _comment(self, work: _Work) -> dict[str, Any]:
        if self._commenting is None:
            return await self._refuse(work, "This server writes no comments.")
        delivery, began = work.delivery, time.monotonic()
        # The attempt is noted first, because the server may end after it has written the comment and before
        # it stores the outcome.
        await self._note_attempt(work)
        try:
            target_count = await self._commenting.comment(
                work.user,
                delivery.conversation_id,
                delivery.id,
                self._description(work),
                is_repeated=delivery.attempts > 0,
            )
        except _PASSING as error:
            await self._note(work, None, error.detail, began, is_counted=True)
            raise TryAgain(error.detail, _seconds(error.headers.get("Retry-After", ""))) from error
        except AppError as error:
            await self._note(work, None, error.detail, began, is_counted=True)
            raise GiveUp(error.detail) from error
        # If there is no place for a comment, this is not a failure, and the delivery is not repeated.
        await self._note(work, None, None if target_count else NO_TARGET, began, is_counted=True)
        return {"places": target_count}

    def _letter(self, work: _Work, recipient: str) -> Letter:
        description = self._description(work)
        return Letter(
            recipient,
            description.title,
            f"{description.text}\n\n{description.url}\n",
            message_id(work.delivery),
        )

    def _description(self, work: _Work) -> EventDescription:
        url = f"{self._base_url}/conversations/{work.delivery.conversation_id.hex}"
        return describe_event(orjson.loads(work.event), title=work.title, url=url)

    async def _call(self, work: _Work) -> dict[str, Any]:
        began = time.monotonic()
        client = self._http if work.user.administers_installation else self._guarded_http
        request = client.build_request(
            "POST", self._address(work.callback), timeout=_TIMEOUT, **self._message(work)
        )
        try:
            reply = await client.send(request, stream=True, follow_redirects=False)
            try:
                # The status counts; the body is only shown.
                text = "" if reply.is_success else await _beginning(reply)
            finally:
                await reply.aclose()
        except AppError as error:
            return await self._refuse(work, error.detail)
        except httpx.HTTPError as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            await self._note(work, None, reason, began)
            raise TryAgain(reason, None) from error
        if reply.is_success:
            await self._note(work, reply.status_code, None, began)
            return {"status": reply.status_code}
        reason = f"The receiver answered {reply.status_code}: {text}".rstrip(": ")
        await self._note(work, reply.status_code, reason, began)
        if reply.status_code == httpx.codes.GONE:
            await self._disable(work.callback)
            raise GiveUp(reason)
        raise TryAgain(reason, _wanted_pause(reply))

    def _address(self, callback: Callback) -> str:
        return self._cipher.decrypt(callback.url_encrypted or "")

    def _message(self, work: _Work) -> dict[str, Any]:
        delivery = work.delivery
        if work.callback.processor is Processor.CHAT:
            headers = {**IDENTITY, "content-type": "application/json", "user-agent": f"slipway/{VERSION}"}
            return {"content": orjson.dumps({"text": for_chat(self._description(work))}), "headers": headers}
        head = {"type": "conversation.event", "timestamp": delivery.created_at.astimezone(UTC).isoformat()}
        data = {"conversation_id": delivery.conversation_id.hex, "seq": delivery.seq}
        body = orjson.dumps({**head, "data": {**data, "event": orjson.Fragment(work.event)}})
        headers = signed_headers(message_id(delivery), int(time.time()), body, self._keys(work.callback))
        return {
            "content": body,
            "headers": {
                **headers,
                **IDENTITY,
                "content-type": "application/json",
                "user-agent": f"slipway/{VERSION}",
            },
        }

    def _keys(self, callback: Callback) -> list[str]:
        stored = [callback.secret_encrypted]
        if callback.previous_secret_until is not None and callback.previous_secret_until > now():
            stored.append(callback.previous_secret_encrypted)
        return [self._cipher.decrypt(each) for each in stored if each]

    async def _refuse(self, work: _Work, reason: str) -> dict[str, Any]:
        await self._note(work, None, reason, time.monotonic())
        raise GiveUp(reason)

    async def _task(self, work: _Work) -> dict[str, Any]:
        if self._start_task is None:
            return await self._refuse(work, "This server starts no tasks.")
        delivery, description, began = work.delivery, self._description(work), time.monotonic()
        task_id = task_of(delivery.id)
        try:
            await self._start_task(
                work.user,
                delivery.conversation_id,
                task_id,
                title_of_task(work.callback.name, description),
                message_of_task(work.callback.instructions or "", description, delivery.id),
            )
        except _PASSING as error:
            await self._note(work, None, error.detail, began)
            raise TryAgain(error.detail, _seconds(error.headers.get("Retry-After", ""))) from error
        except AppError as error:
            return await self._refuse(work, error.detail)
        await self._note(work, None, None, began)
        return {"conversation_id": task_id.hex}

    async def _note_attempt(self, work: _Work) -> None:
        async with self._database.session() as session:
            counted = {"attempts": Delivery.attempts + 1}
            await session.execute(update(Delivery).where(Delivery.id == work.delivery.id).values(**counted))

    async def _note(
        self,
        work: _Work,
        status: int | None,
        error: str | None,
        began: float,
        *,
        is_counted: bool = False,
    ) -> None:
        """Stores the result of one attempt to deliver an event in the delivery's database row. `status`: the
        HTTP status of the reply to a message of a webhook or chat; None if there was no such reply. `error`:
        why the event was not delivered; None if it was delivered.

        `began`: the value of `time.monotonic()` at the start of the attempt, from which the duration is
        computed; 0 stores no duration. `is_counted`: whether the number of attempts in the row already
        includes this attempt. If False, the number is increased by one.
        """
        duration = int((time.monotonic() - began) * 1000) if began else None
        async with self._database.session() as session:
            await session.execute(
                update(Delivery)
                .where(Delivery.id == work.delivery.id)
                .values(
                    attempts=Delivery.attempts + (0 if is_counted else 1),
                    status_code=status,
                    error=error,
                    duration_ms=duration,
                    delivered_at=now() if error is None else None,
                )
            )

    async def _disable(self, callback: Callback) -> None:
        reason = "The receiver answered 410: it does not want further messages."
        async with self._database.session() as session:
            await session.execute(
                update(Callback)
                .where(Callback.id == callback.id)
                .values(is_enabled=False, disabled_reason=reason)
            )

    async def _log(self, work: _Work) -> dict[str, Any]:
        logger.info(
            "an event of a conversation",
            extra={
                "callback": work.callback.name,
                "conversation_id": work.delivery.conversation_id.hex,
                "seq": work.delivery.seq,
                "kind": work.delivery.event_kind,
            },
        )
        await self._note(work, None, None, 0.0)
        return {"logged": True}


async def _beginning(reply: httpx.Response) -> str:
    try:
        content = await beginning_of(reply, _READ_BYTES, _READ_SECONDS)
    except httpx.DecodingError as error:
        return str(error)  # the status counts all the same
    # PostgreSQL takes no null characters.
    return content.decode(errors="replace").replace("\x00", " ")


def message_id(delivery: Delivery) -> str:
    """Returns the value of the HTTP header `webhook-id` for a delivery. All attempts and redeliveries of one
    delivery have the same value, so the receiver can detect repeated messages.
    """
    return f"msg_{delivery.id.hex}"


def _wanted_pause(reply: httpx.Response) -> timedelta | None:
    """Returns how long the receiver of a webhook wants Slipway to wait before the next attempt. This is the
    number of seconds in the header `Retry-After` of its reply, but at most three hours.

    Returns None if the header is missing or is not a whole number, for example a date.
    """
    return _seconds(reply.headers.get("retry-after", ""))


def _seconds(text: str) -> timedelta | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= len("99999999")):
        return None
    return min(timedelta(seconds=int(text)), _LONGEST_WAIT)
