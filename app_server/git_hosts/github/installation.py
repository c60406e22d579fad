"""The client of GitHub for a token of a GitHub App's installation. Such a token belongs to the app and not to
a user.

Source: https://docs.github.com/en/rest/apps/installations.
"""

from collections.abc import Sequence

from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.github import parsing
from app_server.git_hosts.github.client import GitHub, github
from app_server.git_hosts.schemas import HostRepository, HostTask, HostUser, Organization, Slice

_INSTALLATION_TOKEN = "ghs_"  # noqa: S105 (how such tokens begin)
_MAX_SEARCHED = 500
_VIEWER = "query { viewer { login databaseId avatarUrl } }"


def github_of_token(access: HostAccess) -> GitHub:
    """Returns the GitHub client for this token: an InstallationGitHub for a token of a GitHub App's
    installation, otherwise a GitHub client that acts as a user.
    """
    client = github(access)
    return InstallationGitHub(client.connection) if access.token.startswith(_INSTALLATION_TOKEN) else client


class InstallationGitHub(GitHub):
    """A GitHub client that acts as a GitHub App and not as a user. It can reach only the repositories of one
    installation of the app. It returns no organisations and no suggested tasks.
    """

    async def me(self) -> HostUser:
        viewer = (await self._graphql(_VIEWER, {}))["viewer"]
        return HostUser(
            id=str(viewer.get("databaseId") or viewer["login"]),
            login=viewer["login"],
            avatar_url=viewer.get("avatarUrl") or "",
        )

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        return Slice(items=())

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        if query:
            found = await self._all("/installation/repositories", _MAX_SEARCHED, "repositories")
            words = query.casefold()
            fitting = [one for one in found if words in one["full_name"].casefold()]
            return Slice(items=tuple(map(parsing.repository, fitting[:limit])))
        reply = await self._api.get(
            page or "/installation/repositories", None if page else {"per_page": limit}
        )
        items = reply.json()["repositories"]
        return Slice(items=tuple(map(parsing.repository, items)), next_page=reply.next_link)

    async def suggested_tasks(self) -> Sequence[HostTask]:
        return ()
