"""Deletes a person. The belongings that the administrator chooses are given to another person at once. A
background job deletes the other belongings and the account of the deleted person after the person's sandboxes
have been deleted.
"""

import logging
from datetime import timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access import people
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.callbacks.models import Callback
from app_server.conversations.models import Conversation
from app_server.core.database import Database, now
from app_server.core.errors import AppError, BadRequest, Conflict
from app_server.core.jobs.policy import GiveUp, Handler, JobAttempt, RetryPolicy, TryAgain
from app_server.core.jobs.queue import enqueue
from app_server.departures.belongings import belongings_of
from app_server.departures.hand_over import (
    hand_over_callbacks,
    hand_over_conversations,
    hand_over_profiles,
    hand_over_triggers,
)
from app_server.departures.schemas import DeletePerson, Fate
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.service import Sandboxes
from app_server.triggers.models import Trigger
from app_server.users.models import User

logger = logging.getLogger(__name__)

KIND: Final = "person.delete"
POLICY: Final = RetryPolicy(attempts=10_000, longest_pause=timedelta(minutes=10))
_PAUSE = timedelta(seconds=2)


async def begin_deletion(
    session: AsyncSession, trail: AuditTrail, manager: User, person: User, wanted: DeletePerson
) -> list[UUID]:
    """Begins to delete a person: disables the account, and gives the chosen belongings to another person (the
    heir). `manager`: the user who sends the request. `wanted`: what happens to the belongings.

    The heir may get conversations, model profiles, callbacks (actions that run for events of conversations)
    and triggers (rules that start conversations). Callbacks and triggers that the heir does not get are
    deleted at once. Conversations that the heir does not get are hidden at once. A job later deletes the
    hidden conversations, the person's other belongings and the account. Returns the ids of the hidden
    conversations.

    Raises Forbidden `role_not_manageable` if the manager may not manage the person. Raises NotFound
    `person_not_found` if the heir does not exist. Raises BadRequest `heir_not_usable` if the heir is disabled
    or is the person to delete. Raises Conflict `person_being_deleted` if the deletion of the person has
    already begun. Raises Conflict `conversations_starting` while conversations of the person are being
    started.
    """
    people.require_can_manage(manager, person.role)
    if person.deleting_at is not None:
        raise Conflict("This person is being deleted already.", code="person_being_deleted")
    heir = await _heir(session, person, wanted)
    had = await belongings_of(session, person.id)
    if had.starting:
        raise Conflict(
            f"{had.starting} conversations of this person are being started.",
            code="conversations_starting",
            fix="Disable the person, and try again when the starts have ended.",
        )
    person.disabled_at = person.disabled_at or now()
    person.deleting_at = now()
    renamed: dict[str, str] = {}
    if heir and wanted.profiles is Fate.HAND_OVER:
        renamed = await hand_over_profiles(session, person, heir)
    if heir and wanted.callbacks is Fate.HAND_OVER:
        await hand_over_callbacks(session, person.id, heir)
    else:
        await session.execute(delete(Callback).where(Callback.user_id == person.id))
    if heir and wanted.triggers is Fate.HAND_OVER:
        await hand_over_triggers(session, person.id, heir, renamed)
    else:
        await session.execute(delete(Trigger).where(Trigger.user_id == person.id))
    if heir and wanted.conversations is Fate.HAND_OVER:
        await hand_over_conversations(session, person.id, heir, renamed)
    hidden = (
        update(Conversation)
        .where(Conversation.user_id == person.id, Conversation.deleted_at.is_(None))
        .values(deleted_at=now())
        .returning(Conversation.id)
    )
    deleted = list(await session.scalars(hidden))
    await enqueue(session, KIND, {"person_id": person.id.hex}, key=f"{KIND}:{person.id.hex}")
    trail.record(
        session,
        AuditAction.MEMBER_DELETED,
        (AuditTarget.USER, person.id),
        name=person.name,
        heir_id=heir and heir.id.hex,
        heir_name=heir and heir.name,
        conversations=f"{wanted.conversations}: {had.conversations}",
        profiles=f"{wanted.profiles}: {had.profiles}",
        callbacks=f"{wanted.callbacks}: {had.callbacks}",
        triggers=f"{wanted.triggers}: {had.triggers}",
    )
    return deleted


def deleter(database: Database, sandboxes: Sandboxes) -> Handler:
    """Returns the handler of the job that deletes a person's account. The handler first deletes the person's
    sandboxes that have no conversations. If the person then still has conversations or sandboxes, the account
    is not deleted yet, and the job is tried again later.
    """

    async def run(attempt: JobAttempt) -> None:
        person_id = UUID(attempt.payload["person_id"])
        async with database.read() as session:
            person = await session.get(User, person_id)
            if person is None:
                return
            if person.deleting_at is None:
                raise GiveUp("the person is not to be deleted")
            used = exists().where(Conversation.sandbox_id == Sandbox.id)
            unused = list(
                await session.scalars(select(Sandbox.id).where(Sandbox.user_id == person_id, ~used))
            )
        for sandbox_id in unused:
            try:
                await sandboxes.delete(sandbox_id)
            except AppError as error:
                raise TryAgain(error.detail) from error
        async with database.session() as session:
            left = select(Conversation.id).where(Conversation.user_id == person_id).limit(1)
            machines = select(Sandbox.id).where(Sandbox.user_id == person_id).limit(1)
            if await session.scalar(left) or await session.scalar(machines):
                raise TryAgain("the conversations are still being removed", _PAUSE)
            await session.execute(delete(User).where(User.id == person_id))
        logger.info("person deleted", extra={"person_id": person_id.hex})

    return run


async def _heir(session: AsyncSession, person: User, wanted: DeletePerson) -> User | None:
    if wanted.heir_id is None or not wanted.hands_over:
        return None
    heir = await people.find(session, wanted.heir_id, person.organisation_id)
    if heir.id == person.id or heir.disabled_at is not None:
        raise BadRequest(
            "What is handed over must go to another person, whose account is enabled.",
            code="heir_not_usable",
            fix="Choose another person.",
        )
    return heir
