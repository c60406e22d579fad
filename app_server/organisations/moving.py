"""Moves a person to another organisation. The person keeps everything that the person owns, such as
conversations. Sharing with people of the former organisation ends.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.access.people_schemas import GivenRole
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.callbacks.models import Callback, Delivery
from app_server.conversations.models import Conversation
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare
from app_server.core.errors import Conflict, Forbidden, NotFound
from app_server.settings.models import LLMProfile, UserSettings
from app_server.sign_in.invitation_mail.service import take_out
from app_server.sign_in.service import end_links
from app_server.teams.models import TeamMember
from app_server.teams.repositories.models import ConversationTeam
from app_server.users.models import ApiKey, Role, User, WebSession
from app_server.users.organisations import Organisation
from app_server.users.provisioning import ProvisionedPerson


async def move_person(
    session: AsyncSession, trail: AuditTrail, person_id: UUID, to: Organisation, role: GivenRole
) -> tuple[User, Sequence[UUID]]:
    """Moves a person to the organisation `to`. `role`: the person's role there.

    Deletes the person's memberships of teams. Ends all sharing of conversations and model profiles with the
    person and by the person. Callbacks of the person (such as webhooks) that ran for the conversations of all
    users of the former organisation run only for the person's conversations from now on. SCIM no longer
    manages the person. Deletes all credentials that administrators of the former organisation may know:
    one-time links, invitations, browser sessions, and the API keys of a service account. Public links to
    conversations stay valid.

    Returns the person, and the ids of the people, teams and organisations whose access to conversations may
    have changed. The caller must notify their open connections, so that each connection checks its access
    again.

    Raises NotFound `person_not_found` if there is no person with this id. Raises Forbidden
    `role_not_manageable` if the person is the owner of the default organisation. Raises Conflict
    `person_being_deleted` if the person is being deleted. Raises Conflict `already_in_organisation` if the
    person is in the organisation `to` already.
    """
    person = await session.get(User, person_id, with_for_update={"key_share": True}, populate_existing=True)
    if person is None:
        raise NotFound("There is no such person.", code="person_not_found")
    _require_movable(person, to)
    left = person.organisation_id
    affected = await _end_sharing(session, person.id)
    await _end_what_administrators_give(session, person.id)
    await _end_ways_in(session, person)
    person.organisation_id, person.role = to.id, Role(role)
    await session.flush()
    for organisation_id in (left, to.id):
        trail.record(
            session,
            AuditAction.MEMBER_MOVED,
            (AuditTarget.USER, person.id),
            of_organisation=organisation_id,
            name=person.name,
            role=role,
            organisation=to.name,
        )
    return person, [person.id, left, to.id, *affected]


def _require_movable(person: User, to: Organisation) -> None:
    if person.role is Role.OWNER and person.is_of_default_organisation:
        raise Forbidden(
            "The owner of the installation stays in the default organisation.", code="role_not_manageable"
        )
    if person.deleting_at is not None:
        raise Conflict("This person is being deleted.", code="person_being_deleted")
    if person.organisation_id == to.id:
        raise Conflict("The person is in this organisation already.", code="already_in_organisation")


async def _end_sharing(session: AsyncSession, person_id: UUID) -> set[UUID]:
    """Ends the sharing of conversations with the person and by the person, and deletes the person's
    memberships of teams. Returns the ids of the people and teams who had access through this sharing.
    """
    own = select(Conversation.id).where(Conversation.user_id == person_id)
    people = delete(ConversationShare).where(
        or_(ConversationShare.user_id == person_id, ConversationShare.conversation_id.in_(own))
    )
    teams = delete(ConversationTeamShare).where(ConversationTeamShare.conversation_id.in_(own))
    affected = {
        *await session.scalars(people.returning(ConversationShare.user_id)),
        *await session.scalars(teams.returning(ConversationTeamShare.team_id)),
    }
    shared = update(Conversation).where(
        Conversation.user_id == person_id, Conversation.everyone_role.is_not(None)
    )
    await session.execute(shared.values(everyone_role=None))
    await session.execute(delete(ConversationTeam).where(ConversationTeam.conversation_id.in_(own)))
    await session.execute(delete(TeamMember).where(TeamMember.user_id == person_id))
    return affected


async def _end_what_administrators_give(session: AsyncSession, person_id: UUID) -> None:
    """Ends what the person and the people of the former organisation share: model profiles, and callbacks
    (such as webhooks) that run for each other's conversations. SCIM no longer manages the person's account.

    A callback of the person that ran for the conversations of all users of the former organisation runs only
    for the person's conversations from now on. Deliveries are events that a callback has not processed yet.
    Deletes the deliveries of other people's conversations to callbacks of the person. Also deletes the
    deliveries of the person's conversations to callbacks of other people.
    """
    theirs = select(LLMProfile.id).where(LLMProfile.user_id == person_id)
    in_use = or_(UserSettings.user_id == person_id, UserSettings.shared_profile_id.in_(theirs))
    await session.execute(update(UserSettings).where(in_use).values(shared_profile_id=None))
    await session.execute(update(LLMProfile).where(LLMProfile.user_id == person_id).values(shared_in=None))
    own = select(Conversation.id).where(Conversation.user_id == person_id)
    callbacks = select(Callback.id).where(Callback.user_id == person_id)
    of_others = Delivery.callback_id.in_(callbacks) & Delivery.conversation_id.not_in(own)
    # What still waits for the receivers of the former organisation.
    to_others = Delivery.callback_id.not_in(callbacks) & Delivery.conversation_id.in_(own)
    await session.execute(delete(Delivery).where(or_(of_others, to_others)))
    everyones = update(Callback).where(Callback.user_id == person_id, Callback.is_for_everyone)
    await session.execute(everyones.values(is_for_everyone=False))
    await session.execute(delete(ProvisionedPerson).where(ProvisionedPerson.user_id == person_id))


async def _end_ways_in(session: AsyncSession, person: User) -> None:
    """Deletes all credentials with which administrators of the person's previous organisation could act as
    the person: browser sessions, one-time links and invitations, and the API keys of a service account.
    """
    await take_out(session, person)
    await end_links(session, person.id)
    await session.execute(delete(WebSession).where(WebSession.user_id == person.id))
    if person.is_service:
        await session.execute(delete(ApiKey).where(ApiKey.user_id == person.id))
