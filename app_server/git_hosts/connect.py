"""Finds the stored token of a user for a git host, and creates the client that calls this host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import Forbidden
from app_server.git import credentials
from app_server.git.models import GitCredential
from app_server.git.providers import HOSTS, GitProvider, provider_of
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.git_hosts.azure_devops.client import azure_devops
from app_server.git_hosts.bitbucket_cloud.client import bitbucket_cloud
from app_server.git_hosts.bitbucket_data_center.client import bitbucket_data_center
from app_server.git_hosts.checked_client import Renewing, careful
from app_server.git_hosts.connection import HostAccess
from app_server.git_hosts.forgejo.client import forgejo
from app_server.git_hosts.github.installation import github_of_token
from app_server.git_hosts.gitlab.client import gitlab
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.rate_limits import RateLimits
from app_server.http.additional_trust import trusting

_FACTORIES: dict[GitProvider, Callable[[HostAccess], GitHostClient]] = {
    GitProvider.AZURE_DEVOPS: azure_devops,
    GitProvider.GITHUB: github_of_token,
    GitProvider.FORGEJO: forgejo,
    GitProvider.GITLAB: gitlab,
    GitProvider.BITBUCKET: bitbucket_cloud,
    GitProvider.BITBUCKET_DATA_CENTER: bitbucket_data_center,
}


@dataclass(frozen=True)
class ConnectedHost:
    """A git host and the client that calls it with the token of one user. `origin`: the host as a URL without
    a path, such as `https://github.com`.
    """

    origin: str
    provider: GitProvider
    client: GitHostClient


@dataclass(frozen=True)
class GitHosts:
    """Finds the git hosts for which one user has stored a token. Each method returns one or several
    ConnectedHosts: a git host with an API client that uses the user's token. `http`: the HTTP client for this
    user's calls; it refuses private network addresses unless the user is an administrator. `limits`: stores
    the rate limits that the hosts state. `tokens`: renews tokens that were granted by a sign-in.
    """

    user_id: UUID
    cipher: Cipher
    http: httpx.AsyncClient
    limits: RateLimits
    tokens: HostTokens

    async def at(self, session: AsyncSession, origin: str) -> ConnectedHost:
        """Returns the git host with this origin (such as `https://github.com`), with the API client for it.
        Raises Forbidden `no_git_credential` if the user has no token for the host.
        """
        row = await credentials.credential_of_origin(session, self.user_id, origin)
        if row is None:
            raise _no_token(origin.removeprefix("https://"))
        return self._connected(row)

    async def named(self, session: AsyncSession, host: str) -> ConnectedHost:
        """Returns a git host with the API client for it. `host`: the name of the host, such as `github.com`,
        or its origin, such as `https://github.com`. Raises Forbidden `no_git_credential` if the user has no
        token for the host.
        """
        return await self.at(session, host if "://" in host else f"https://{host}")

    async def of_provider(self, session: AsyncSession, provider: GitProvider) -> ConnectedHost:
        """Returns a git host of this provider for which the user has a token, with the API client for it.
        Prefers the provider's public host, such as `gitlab.com`. If the user has no token for the public
        host, returns the first of the other hosts in alphabetical order. Raises Forbidden `no_git_credential`
        if the user has no token for any host of the provider.
        """
        rows = [
            row for row in await self._rows(session) if provider_of(row.origin, row.provider)[0] is provider
        ]
        usual = [row for row in rows if row.origin == f"https://{HOSTS[provider]}"]
        for row in (*usual, *rows):
            return self._connected(row)
        raise _no_token(provider)

    async def all(self, session: AsyncSession) -> Sequence[ConnectedHost]:
        """Returns all git hosts for which the user has stored a token, sorted by origin."""
        return [self._connected(row) for row in await self._rows(session)]

    async def _rows(self, session: AsyncSession) -> Sequence[GitCredential]:
        return await credentials.list_credentials(session, self.user_id)

    def _connected(self, row: GitCredential) -> ConnectedHost:
        provider = provider_of(row.origin, row.provider)[0]
        host = row.origin.removeprefix("https://")
        stored = self.cipher.decrypt(row.token_encrypted)
        http = trusting(self.http, credentials.trust_in(row))

        def with_token(token: str) -> GitHostClient:
            access = HostAccess(row.origin, token, http, self.limits, row.username, row.api_url)
            return _FACTORIES[provider](access)

        async def valid(refused: str | None, repository: str | None) -> str:
            token = await self.tokens.token(self.user_id, row.origin, refused=refused, repository=repository)
            return stored if token is None else token

        client = careful(with_token(stored), host, Renewing(valid, with_token))
        return ConnectedHost(row.origin, provider, client)


def _no_token(host: str) -> Forbidden:
    return Forbidden(
        f"There is no token for {host}.",
        code="no_git_credential",
        fix="Add one in the settings, under Git hosts.",
    )
