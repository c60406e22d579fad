"""Routes by which the owner of a conversation gives other people and teams access to the conversation, and
ends their access.
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.conversations.live.change_notices import telling
from app_server.conversations.schemas import PlainText
from app_server.conversations.sharing import service, with_teams
from app_server.conversations.sharing.schemas import Candidate, SetAccess, SetEveryone, Sharing
from app_server.core.database import ReadSession, Session
from app_server.core.pubsub import ServerPubSub

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/sharing", tags=["Conversations"])


@router.get("")
async def get_sharing(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> Sharing:
    """Returns the people and teams that have access to the conversation.

    403 `conversation_access_missing` if the user is not the owner of the conversation.
    """
    return await service.sharing_of(session, user.id, conversation_id)


@router.put("")
async def share_with_everyone(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    body: SetEveryone,
    pubsub: ServerPubSub,
) -> Sharing:
    """Sets what every signed-in user of the organisation may do with the conversation. If the value in the
    body is null, ends the sharing with everyone: then only the owner, and the people and teams with which the
    conversation is shared, have access. Returns the people and teams that now have access.
    """
    async with telling(session, pubsub, conversation_id):
        return await service.share_with_everyone(session, user.id, trail, conversation_id, body.everyone)


@router.get("/candidates")
async def find_candidates(
    principal: CurrentPrincipal,
    session: ReadSession,
    conversation_id: UUID,
    request: Request,
    query: Annotated[PlainText, Query(min_length=1, max_length=320)],
) -> list[Candidate]:
    """Returns the people and teams with which the conversation can be shared: up to 20 teams whose name
    contains the query, and then up to 20 people whose name contains the query or whose e-mail address is the
    query. An administrator can share with all teams, another user only with teams to which the user belongs.
    """
    teams = await with_teams.team_candidates(session, principal, conversation_id, query)
    with_address = await request.state.users_with_address(session, query)
    found = await service.candidates(session, principal.user.id, conversation_id, query, with_address)
    return [
        *(Candidate(team_id=team.id, name=team.name) for team in teams),
        *(Candidate(user_id=person.id, name=person.name, is_service=person.is_service) for person in found),
    ]


@router.put("/people/{person_id}")
async def share_with_person(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    person_id: UUID,
    body: SetAccess,
    pubsub: ServerPubSub,
) -> Sharing:
    """Shares the conversation with one person, or changes what the person may do with the conversation.
    Returns the people and teams that now have access.

    404 `person_not_found` if the organisation has no such active person. 400 `shared_with_owner` if the
    person is the owner. 409 `too_many_people` if the conversation is shared with the maximum number of
    people.
    """
    async with telling(session, pubsub, conversation_id):
        return await service.share_with(session, user.id, trail, conversation_id, person_id, body.access)


@router.delete("/people/{person_id}")
async def stop_sharing_with_person(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    person_id: UUID,
    pubsub: ServerPubSub,
) -> Sharing:
    """Ends the sharing of the conversation with one person. The person's live streams of the conversation end
    within two seconds, unless the person still has access through a team or because the conversation is
    shared with everyone. Returns the people and teams that still have access.

    404 `share_not_found` if the conversation is not shared with the person.
    """
    async with telling(session, pubsub, conversation_id):
        return await service.stop_sharing_with(session, user.id, trail, conversation_id, person_id)


@router.put("/teams/{team_id}")
async def share_with_team(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    team_id: UUID,
    body: SetAccess,
    pubsub: ServerPubSub,
) -> Sharing:
    """Shares the conversation with a team, or changes what the team may do. All members of the team get
    access, also people who join the team later. The user must be a member of the team or an administrator.
    Returns the people and teams that now have access.

    404 `team_not_found` if the user may not see the team. 409 `too_many_teams` if the conversation is already
    shared with 50 teams.
    """
    async with telling(session, pubsub, conversation_id):
        return await with_teams.share_with_team(
            session, principal, trail, conversation_id, team_id, body.access
        )


@router.delete("/teams/{team_id}")
async def stop_sharing_with_team(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    team_id: UUID,
    pubsub: ServerPubSub,
) -> Sharing:
    """Ends the sharing of the conversation with a team. A member's live streams of the conversation end
    within two seconds, unless this member still has access, for example through another team. Returns the
    people and teams that still have access.

    404 `share_not_found` if the conversation is not shared with the team.
    """
    async with telling(session, pubsub, conversation_id):
        return await with_teams.stop_sharing_with_team(session, user.id, trail, conversation_id, team_id)
