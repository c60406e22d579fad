"""The route that returns the git host's user account to which a stored token belongs."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from app_server.core.database import ServerDatabase
from app_server.core.errors import Forbidden
from app_server.git.provider_routes import checked_origin
from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.routes import CurrentGitHosts
from app_server.git_hosts.schemas import RateLimit

router = APIRouter(prefix="/api/v1/users", tags=["Git"])

_FIRST = ("https://github.com", "https://gitlab.com")


class UserGitInfo(BaseModel):
    """The reply of get_git_info: the user's account at the git host. `id`: the host's id of the account, as
    text; at most hosts it is a number. `scopes`: what the token may do; null if the host does not say.
    `rate_limit`: how many calls the host still accepts; null if the host does not say.
    """

    id: str
    login: str
    avatar_url: str
    company: str | None = None
    name: str | None = None
    email: str | None = None
    scopes: list[str] | None = None
    rate_limit: RateLimit | None = None


@router.get(
    "/git-info",
    responses={
        400: {"description": "The host does not tell which user a token belongs to"},
        403: {"description": "There is no token of a git host"},
        502: {"description": "The host refuses the token, or did not answer"},
    },
)
async def get_git_info(
    hosts: CurrentGitHosts,
    database: ServerDatabase,
    host: Annotated[str | None, Query(max_length=300)] = None,
) -> UserGitInfo:
    """Returns the account to which the user's stored token for a git host belongs. `host`: the name of the
    git host. If `host` is missing, uses the first host for which the user has a token, in this order: GitHub,
    GitLab, other hosts alphabetically.
    """
    # A session that ends before the host is asked.
    async with database.read() as session:
        connected = await hosts.all(session)
    user = await _chosen(connected, host).client.me()
    return UserGitInfo.model_validate(user.model_dump())


def _chosen(connected: Sequence[ConnectedHost], host: str | None) -> ConnectedHost:
    by_origin = {one.origin: one for one in connected}
    for origin in [checked_origin(host)] if host else [*_FIRST, *by_origin]:
        if origin in by_origin:
            return by_origin[origin]
    raise Forbidden(
        "There is no token of that git host." if host else "There is no token of a git host.",
        code="no_git_credential",
        fix="Add one in the settings.",
    )
