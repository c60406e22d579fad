"""Routes for teams. All users see the teams of which they are members. Administrators see and change all
teams of their organisation.
"""

from uuid import UUID

from fastapi import APIRouter, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.core.database import ReadSession, Session
from app_server.core.pubsub import LOOK, publish_after_commit
from app_server.teams import service
from app_server.teams.models import Team
from app_server.teams.repositories.service import set_maintainer
from app_server.teams.schemas import SaveTeam, TeamDetails, TeamInfo

router = APIRouter(prefix="/api/v1/teams", tags=["Teams"])


@router.get("")
async def list_teams(principal: CurrentPrincipal, session: ReadSession) -> list[TeamInfo]:
    """Returns the teams of which the user is a member, sorted by name. Administrators get all teams of the
    organisation.
    """
    return await service.list_teams(session, principal.user.id, sees_all=_sees_all(principal))


@router.post("", status_code=201)
async def create_team(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, body: SaveTeam
) -> TeamDetails:
    """Creates a team without members.

    Errors: 409 `team_name_taken` if another team has this name (upper and lower case do not matter); 409
    `too_many_teams` if the organisation has 200 teams.
    """
    team = await service.create_team(session, trail, body.name, principal.user.organisation_id)
    return await _show(principal, session, team.id)


@router.get("/{team_id}")
async def get_team(principal: CurrentPrincipal, session: ReadSession, team_id: UUID) -> TeamDetails:
    """Returns a team with its members. Replies 404 `team_not_found` if the team does not exist, or if the
    user may not see it.
    """
    return await _show(principal, session, team_id)


@router.patch("/{team_id}")
async def rename_team(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, team_id: UUID, body: SaveTeam
) -> TeamDetails:
    """Changes the name of a team. Errors: 404 `team_not_found` if there is no such team; 409
    `team_name_taken` if another team has this name.
    """
    await service.rename_team(session, trail, await _find(principal, session, team_id), body.name)
    return await _show(principal, session, team_id)


@router.delete("/{team_id}", status_code=204)
async def delete_team(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, team_id: UUID, request: Request
) -> None:
    """Deletes a team. The accounts of its members are not deleted. The members lose access to conversations
    that were shared with the team. Open connections that stream events of these conversations to the members
    end within two seconds.

    Replies 404 `team_not_found` if there is no such team.
    """
    await service.delete_team(session, trail, await _find(principal, session, team_id))
    _tell(request, session, team_id)


@router.put("/{team_id}/members/{user_id}")
async def add_team_member(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID,
    user_id: UUID,
    request: Request,
) -> TeamDetails:
    """Adds a person to a team and returns the team.

    Errors: 404 `team_not_found` if there is no such team; 404 `person_not_found` if the person is not in the
    team's organisation; 409 `too_many_members` (the limit is 1000).
    """
    await service.add_member(session, trail, await _find(principal, session, team_id), user_id)
    _tell(request, session, user_id)
    return await _show(principal, session, team_id)


@router.delete("/{team_id}/members/{user_id}")
async def remove_team_member(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID,
    user_id: UUID,
    request: Request,
) -> TeamDetails:
    """Removes a person from a team and returns the team. The person loses access to conversations that the
    person could see only as a member of the team. Open connections that stream events of these conversations
    to the person end within two seconds.

    Errors: 404 `team_not_found` if there is no such team; 404 `team_member_not_found` if the person is not a
    member of the team.
    """
    await service.remove_member(session, trail, await _find(principal, session, team_id), user_id)
    _tell(request, session, user_id)
    return await _show(principal, session, team_id)


@router.put("/{team_id}/maintainers/{user_id}")
async def add_team_maintainer(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, team_id: UUID, user_id: UUID
) -> TeamDetails:
    """Makes a member of the team a maintainer, and returns the team. A maintainer may change the list of the
    team's repositories. Errors: 404 `team_not_found` if there is no such team; 404 `team_member_not_found` if
    the person is not a member of the team.
    """
    await set_maintainer(
        session, trail, await _find(principal, session, team_id), user_id, is_maintainer=True
    )
    return await _show(principal, session, team_id)


@router.delete("/{team_id}/maintainers/{user_id}")
async def remove_team_maintainer(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, team_id: UUID, user_id: UUID
) -> TeamDetails:
    """Makes a maintainer an ordinary member of the team, and returns the team. The person may no longer
    change the list of the team's repositories. Errors: 404 `team_not_found` if there is no such team; 404
    `team_member_not_found` if the person is not a member of the team.
    """
    await set_maintainer(
        session, trail, await _find(principal, session, team_id), user_id, is_maintainer=False
    )
    return await _show(principal, session, team_id)


async def _find(principal: Principal, session: Session, team_id: UUID) -> Team:
    return await service.find_team(session, team_id, principal.user.organisation_id)


def _tell(request: Request, session: Session, channel: UUID) -> None:
    """Tells open connections to check again which conversations their user may see, because access rights
    have changed. The connections get the message after the transaction has committed. They are the
    connections that stream events to a user's browser.

    channel: the id of a user, for the connections of this user; or the id of a team, for the connections of
    all members of this team.
    """
    publish_after_commit(session, request.state.pubsub, channel, [LOOK])


def _sees_all(principal: Principal) -> bool:
    return principal.may(Permission.ADMINISTER)


async def _show(principal: Principal, session: Session, team_id: UUID) -> TeamDetails:
    return await service.show_team(session, principal.user.id, team_id, sees_all=_sees_all(principal))
