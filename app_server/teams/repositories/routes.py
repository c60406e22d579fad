"""Routes for the repositories that belong to teams. All members of a team see its list of repositories.
Administrators change this list, and so do the team's maintainers, who are members with this permission.
"""

from uuid import UUID

from fastapi import APIRouter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.core.database import ReadSession, Session
from app_server.teams.repositories import service
from app_server.teams.repositories.schemas import SaveTeamRepositories, TeamRepositories

router = APIRouter(prefix="/api/v1/teams", tags=["Teams"])


@router.get("/{team_id}/repositories")
async def get_team_repositories(
    principal: CurrentPrincipal, session: ReadSession, team_id: UUID
) -> TeamRepositories:
    """Returns the repositories of a team and the team's rules for conversations about them. Replies 404
    `team_not_found` if the team does not exist, or if the user may not see it.
    """
    return await service.show(
        session, principal.user.id, team_id, is_administrator=_is_administrator(principal)
    )


@router.put("/{team_id}/repositories")
async def save_team_repositories(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID,
    body: SaveTeamRepositories,
) -> TeamRepositories:
    """Replaces the list of a team's repositories and the rules for conversations about them. Only
    administrators and the team's maintainers may do this. Only administrators may change `members_only`.

    Errors: 400 `repository_name_wrong` if a name does not have the right form; 403 `not_maintainer` if the
    user is neither an administrator nor a maintainer; 403 `members_only_not_allowed` if the user changes
    `members_only` without being an administrator; 404 `team_not_found` if there is no such team; 409
    `repository_taken` if a repository belongs to another team.
    """
    rights = {"is_administrator": _is_administrator(principal)}
    await service.save(session, principal.user.id, trail, team_id, body, **rights)
    return await service.show(session, principal.user.id, team_id, **rights)


def _is_administrator(principal: Principal) -> bool:
    return principal.may(Permission.ADMINISTER)
