"""Stores invitations that are sent by e-mail, and returns whether each of them was sent."""

from uuid import UUID, uuid4

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.people_schemas import InvitationMailInfo, InvitationMailState
from app_server.core.jobs.queue import enqueue
from app_server.sign_in.invitation_mail.models import InvitationMail
from app_server.users.models import User

KIND = "invitations.mail"


async def store(session: AsyncSession, person: User, *, inviter_id: UUID | None, address: str) -> None:
    """Stores an invitation for `person`, and a background job that sends it by e-mail to `address`. Both are
    written in the transaction of `session`. `inviter_id`: the user who invites. The job sends no invitation
    if this is None.
    """
    mail = InvitationMail(id=uuid4(), user_id=person.id, inviter_id=inviter_id, address=address)
    session.add(mail)
    await session.flush()
    await enqueue(session, KIND, {"mail_id": mail.id.hex})


async def take_out(session: AsyncSession, person: User) -> str | None:
    """Deletes the e-mail invitation of a person, so that no job sends it any more. Returns the e-mail address
    of the invitation, or None if there is no invitation.

    If a job is just sending this invitation, first waits until the job has stored its new sign-in link.
    Without this wait, the caller, who then makes all links of the person invalid, would miss the new one.
    """
    deleted = delete(InvitationMail).where(InvitationMail.user_id == person.id)
    return await session.scalar(deleted.returning(InvitationMail.address))


async def by_person(session: AsyncSession) -> dict[UUID, InvitationMailInfo]:
    """Returns the e-mail invitations of all people who have not signed in yet. The key is the id of the
    invited user.
    """
    query = select(InvitationMail).join(User, User.id == InvitationMail.user_id)
    mails = await session.scalars(query.where(User.signed_in_at.is_(None)))
    return {mail.user_id: info_of(mail) for mail in mails}


def info_of(mail: InvitationMail) -> InvitationMailInfo:
    state: InvitationMailState = "failed" if mail.failed_at else "waiting"
    if mail.sent_at:
        state = "sent"
    return InvitationMailInfo(
        address=mail.address,
        state=state,
        sent_at=mail.sent_at,
        link_expires_at=mail.link_expires_at,
        error=mail.error,
    )
