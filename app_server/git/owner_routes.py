"""The route that returns the team to which a repository belongs."""

from typing import Annotated

from fastapi import APIRouter, Query

from app_server.access.authentication import CurrentUser
from app_server.core.database import ReadSession
from app_server.git.address import parse_address
from app_server.levels.models import SettingName
from app_server.levels.service import enforced_for
from app_server.teams.repositories.first_team import put_first
from app_server.teams.repositories.ownership import owner_of
from app_server.teams.repositories.schemas import RepositoryOwner

router = APIRouter(prefix="/api/v1/repository-owner", tags=["Teams"])


@router.get("")
async def get_repository_owner(
    user: CurrentUser,
    session: ReadSession,
    repository: Annotated[str, Query(min_length=1, max_length=2000)],
    git_provider: Annotated[str | None, Query(max_length=50)] = None,
) -> RepositoryOwner | None:
    """Returns the team that owns a repository, if the user may know this team. Otherwise returns null.

    A member of the team may know it. Other users may know it only if the team reserves the repository for its
    members. Returns null also if no team owns the repository.

    `repository`: the name or URL of the repository. `git_provider`: the kind of git host for a name without a
    host; null means GitHub. 422 `repository_not_found` if the text is not the name or URL of a repository.
    """
    identity = parse_address(repository, git_provider).identity
    owner = await owner_of(session, user.id, identity)
    if owner is None or not (owner.is_member or owner.members_only):
        return None
    put_first(session, owner.id)
    model = await enforced_for(session, user.id, SettingName.LLM_PROFILE)
    return RepositoryOwner(
        team_id=owner.id,
        team_name=owner.name,
        is_member=owner.is_member,
        members_see=owner.members_see,
        members_only=owner.members_only,
        llm_profile=None if model is None else model.value,
    )
