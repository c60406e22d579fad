"""The job that sends an invitation by e-mail."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import update

from app_server.access.audit_trail import AuditTrail
from app_server.access.people_schemas import SignInLinkInfo
from app_server.audit.actions import ActorMeans
from app_server.audit.chain import Actor
from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.jobs.policy import GiveUp, Handler, JobAttempt, RetryPolicy, TryAgain
from app_server.core.mail.sending import Letter, MailFailed, MailRefused, send
from app_server.sign_in.invitation_mail.models import InvitationMail
from app_server.sign_in.invitations import new_link
from app_server.users.models import ADMINISTRATORS, User

POLICY: Final = RetryPolicy(
    attempts=12,
    first_pause=timedelta(seconds=5),
    longest_pause=timedelta(hours=1),
    # One exchange with a mail server has several steps, and each has its own shorter limit.
    timeout=timedelta(minutes=3),
)


class _NotAllowed(Exception):
    """The error that is raised if an invitation may not be sent any more. The text of the error is the
    reason.
    """


def sender(database: Database, config: Config) -> Handler:
    """Returns the function (job handler) that sends an invitation by e-mail. Each attempt to send an
    invitation creates a new link. So no link has to be stored with the invitation, and the lifetime of the
    link begins when the e-mail is sent.
    """

    async def run(attempt: JobAttempt) -> dict[str, Any]:
        mail_id = UUID(attempt.payload["mail_id"])
        try:
            return await _attempt(database, config, mail_id)
        except MailFailed as error:
            if not attempt.is_last:
                await _note(database, mail_id, error=str(error))
                raise TryAgain(str(error)) from error
            reason = str(error)
        except (MailRefused, _NotAllowed) as error:
            reason = str(error)
        await _note(database, mail_id, error=reason, failed_at=now())
        raise GiveUp(reason)

    return run


async def _attempt(database: Database, config: Config, mail_id: UUID) -> dict[str, Any]:
    """Sends the invitation by e-mail once, with a new link. Does nothing if the invitation was deleted or
    sent, or if the person has signed in. Returns the result that is stored with the job: `mailed`, or
    `skipped` with the reason.

    Raises _NotAllowed in three cases: this server has no mail server, the invited person's account is
    disabled, or the inviting user may no longer invite people. Raises MailFailed or MailRefused if the e-mail
    could not be sent.
    """
    if config.mail is None:
        raise _NotAllowed("This server cannot send e-mail.")
    async with database.session() as session:
        # The row is locked, so that an invitation that is sent again ends the link of this attempt, too.
        mail = await session.get(InvitationMail, mail_id, with_for_update=True)
        if mail is None or mail.sent_at is not None:
            return {"skipped": "deleted or sent"}
        person = await session.get_one(User, mail.user_id)
        if person.signed_in_at is not None:
            return {"skipped": "signed in"}
        inviter = _allowed_inviter(
            person, await session.get(User, mail.inviter_id) if mail.inviter_id else None
        )
        trail = AuditTrail(
            Actor(
                ActorMeans.SERVER,
                user_id=inviter.id,
                name=inviter.name,
            )
        )
        link = await new_link(session, config, person, trail)
    text = _text(inviter.name, config.base_url, link)
    await send(
        config.mail, Letter(mail.address, "Your invitation to Slipway", text, f"invitation_{mail_id.hex}")
    )
    sent = {"sent_at": now(), "link_expires_at": link.expires_at}
    await _note(database, mail_id, error=None, failed_at=None, **sent)
    return {"mailed": True}


def _allowed_inviter(person: User, inviter: User | None) -> User:
    if person.disabled_at is not None:
        raise _NotAllowed("The account of this person is disabled.")
    may_invite = inviter is not None and inviter.disabled_at is None and inviter.role in ADMINISTRATORS
    if inviter is None or not may_invite or not _is_in_charge(inviter, person):
        raise _NotAllowed("The person who invited is not an administrator any more.")
    return inviter


def _is_in_charge(inviter: User, person: User) -> bool:
    # The owner of the installation invites people into other organisations.
    return inviter.organisation_id == person.organisation_id or inviter.administers_installation


def _text(inviter: str, server: str, link: SignInLinkInfo) -> str:
    # A name is text of a user. Line ends in it would let it look like a part of the message.
    name = " ".join(inviter.split())
    return (
        f"{name} invites you to Slipway at {server}\n\n"
        f"Open this link in your browser to sign in:\n\n{link.url}\n\n"
        f"The link works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC. After that, ask for a new link.\n"
        "If you did not expect this invitation, ignore this message.\n"
    )


async def _note(database: Database, mail_id: UUID, **values: Any) -> None:
    async with database.session() as session:
        await session.execute(update(InvitationMail).where(InvitationMail.id == mail_id).values(**values))
