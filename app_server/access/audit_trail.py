"""Adds entries to the audit log about what a request or a command has done, and for which user."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from app_server.access.authentication import CurrentPrincipal
from app_server.access.principal import Principal
from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.audit.chain import Actor, NewEntry, record
from app_server.audit.models import AuditEntry
from app_server.core.database import Database
from app_server.users.models import User

_MEANS = {"key": ActorMeans.KEY, "session": ActorMeans.SESSION}


@dataclass(frozen=True)
class AuditTrail:
    """A writer of audit log entries for one actor (a user, a sandbox or the server). An entry is written only
    if the database session commits.
    """

    actor: Actor

    def record(
        self,
        session: AsyncSession,
        action: AuditAction,
        target: tuple[AuditTarget, UUID | str] | None = None,
        *,
        outcome: AuditOutcome = AuditOutcome.SUCCESS,
        of_organisation: UUID | None = None,
        **details: Any,
    ) -> None:
        """Adds an entry to the audit log.

        `target`: the kind of the changed object, and its id or name; None if no object was changed.
        `of_organisation`: the organisation whose administrators may read the entry; None means the actor's
        organisation. `details`: further facts; never a secret. Details with the value None are left out.
        """
        kind, id_ = target or (None, None)
        entry = NewEntry(
            actor=self.actor,
            action=action,
            target_kind=kind,
            target_id=id_.hex if isinstance(id_, UUID) else id_,
            outcome=outcome,
            details=details,
            organisation_id=of_organisation,
        )
        record(session, entry)


def address_of(connection: HTTPConnection) -> str | None:
    """Returns the IP address of the client. If the request came through a trusted proxy, this is the address
    that the proxy reports. Returns None if the address is unknown.
    """
    return connection.client.host if connection.client else None


def trail_of(principal: Principal, connection: HTTPConnection) -> AuditTrail:
    actor = Actor(
        means=_MEANS[principal.credential.kind],
        user_id=principal.user.id,
        name=principal.user.name,
        credential_id=principal.credential.id,
        address=address_of(connection),
    )
    return AuditTrail(actor)


async def trail_of_sandbox(session: AsyncSession, user_id: UUID, sandbox_id: UUID) -> AuditTrail:
    """Returns a writer of audit log entries about what a sandbox does on behalf of its user. `user_id`: the
    id of the sandbox's user.
    """
    user = await session.get_one(User, user_id)
    return AuditTrail(Actor(ActorMeans.SANDBOX, user_id, user.name, credential_id=sandbox_id))


async def record_first_use(
    database: Database, user_id: UUID, sandbox_id: UUID, name: str, *, of_conversation: UUID | None = None
) -> None:
    """Records in the audit log that a sandbox has read the value of a secret. Does nothing if the log already
    has an entry about the same sandbox, secret and conversation.

    `user_id`: the user of the sandbox. `name`: the name of the secret. `of_conversation`: the conversation to
    which the secret belongs, if the secret was part of the request that started this conversation. None means
    that the secret is one of the user's saved secrets.
    """
    known = select(AuditEntry.details).where(
        AuditEntry.target_id == name,
        AuditEntry.action == AuditAction.SECRET_USED,
        AuditEntry.credential_id == sandbox_id,
    )
    own = of_conversation and of_conversation.hex
    async with database.read() as session:
        if any(one.get("conversation_id") == own for one in await session.scalars(known)):
            return
    async with database.session() as session:
        trail = await trail_of_sandbox(session, user_id, sandbox_id)
        trail.record(session, AuditAction.SECRET_USED, (AuditTarget.SECRET, name), conversation_id=own)


def trail_of_command_line(owner: User) -> AuditTrail:
    """Returns a writer of audit log entries about what a command on the server's machine does. Such commands
    act as the owner of the installation.
    """
    return AuditTrail(Actor(ActorMeans.COMMAND_LINE, user_id=owner.id, name=owner.name))


async def _current_trail(principal: CurrentPrincipal, connection: HTTPConnection) -> AuditTrail:
    return trail_of(principal, connection)


CurrentTrail = Annotated[AuditTrail, Depends(_current_trail)]
"""The writer of audit log entries for the current request. Use: `trail.record(session, AuditAction.…, …)`."""
