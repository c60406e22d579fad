"""The addresses of the OAuth endpoints at which git hosts grant, renew and revoke tokens. Does no I/O.

Sources: https://docs.github.com/en/apps/oauth-apps, https://docs.gitlab.com/api/oauth2,
https://support.atlassian.com/bitbucket-cloud/docs/use-oauth-on-bitbucket-cloud,
https://confluence.atlassian.com/display/BITBUCKETSERVER091/Bitbucket+OAuth+2.0+provider+API,
https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow,
https://forgejo.org/docs/latest/user/oauth2-provider.
"""

from dataclasses import dataclass, field
from uuid import UUID

from app_server.core.encryption import Cipher
from app_server.git.models import GitOAuthApp
from app_server.git.providers import GitProvider
from app_server.http.additional_trust import AdditionalTrust

_AZURE_DEVOPS = "499b84ac-1321-427f-aa17-267ca6975798"
"""The id of Azure DevOps at Microsoft Entra (Microsoft's sign-in service)."""


@dataclass(frozen=True)
class _Paths:
    """The OAuth endpoints of a kind of git host, and the scopes to request. `authorize`, `token` and `device`
    are URL paths that are appended to the base address of the host's sign-in, such as `https://github.com`.
    `authorize`: the page where users sign in. `token`: grants tokens. `device`: begins the device flow (RFC
    8628); None if the host does not support this flow. `scopes`: the scopes to request if the administrator
    has entered none, separated by spaces.
    """

    authorize: str
    token: str
    scopes: str
    device: str | None = None


_GITHUB = "/login/oauth"
_PATHS = {
    GitProvider.GITHUB: _Paths(
        f"{_GITHUB}/authorize", f"{_GITHUB}/access_token", "repo read:org", device="/login/device/code"
    ),
    GitProvider.GITLAB: _Paths(
        "/oauth/authorize", "/oauth/token", "api write_repository", device="/oauth/authorize_device"
    ),
    # The scopes of Bitbucket are set at its OAuth consumer.
    GitProvider.BITBUCKET: _Paths("/site/oauth2/authorize", "/site/oauth2/access_token", ""),
    GitProvider.BITBUCKET_DATA_CENTER: _Paths(
        "/rest/oauth2/latest/authorize", "/rest/oauth2/latest/token", "REPO_WRITE"
    ),
    GitProvider.AZURE_DEVOPS: _Paths(
        "/oauth2/v2.0/authorize", "/oauth2/v2.0/token", f"{_AZURE_DEVOPS}/.default offline_access"
    ),
    GitProvider.FORGEJO: _Paths(
        f"{_GITHUB}/authorize",
        f"{_GITHUB}/access_token",
        "write:repository write:issue read:user read:organization",
    ),
}
DEVICE_PROVIDERS = frozenset(provider for provider, paths in _PATHS.items() if paths.device)


@dataclass(frozen=True)
class OAuthApp:
    """An OAuth application or GitHub App that an administrator has registered at a git host, with its secrets
    decrypted. `origin`: the host as a URL without a path. `api_url`, `sign_in_url`: the addresses of the
    host's API and sign-in; None means the usual addresses. `stated_scopes`: the scopes that the administrator
    has entered, separated by spaces; None means the scopes that Slipway needs. `private_key`: PEM, only for a
    GitHub App. `certificate_authorities`: the certificate authorities that are trusted for the host in
    addition to the usual ones, as PEM; None if there are none.
    """

    id: UUID
    origin: str
    provider: GitProvider
    api_url: str | None
    client_id: str
    sign_in_url: str | None = None
    stated_scopes: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    certificate_authorities: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, row: GitOAuthApp, cipher: Cipher) -> "OAuthApp":
        secret, key = row.client_secret_encrypted, row.private_key_encrypted
        return cls(
            id=row.id,
            origin=row.origin,
            provider=row.provider,
            api_url=row.api_url,
            client_id=row.client_id,
            sign_in_url=row.sign_in_url,
            stated_scopes=row.scopes,
            client_secret=cipher.decrypt(secret) if secret else None,
            private_key=cipher.decrypt(key) if key else None,
            certificate_authorities=row.certificate_authorities,
        )

    @property
    def host(self) -> str:
        return self.origin.removeprefix("https://")

    @property
    def authorization_url(self) -> str:
        return self._base + _PATHS[self.provider].authorize

    @property
    def token_url(self) -> str:
        return self._base + _PATHS[self.provider].token

    @property
    def device_url(self) -> str | None:
        """The address at the git host where the device flow begins (RFC 8628). None if the host does not
        support the device flow.
        """
        path = _PATHS[self.provider].device
        return path and self._base + path

    @property
    def scopes(self) -> str:
        """The OAuth scopes that a sign-in with this application requests, separated by spaces."""
        return _PATHS[self.provider].scopes if self.stated_scopes is None else self.stated_scopes

    @property
    def api(self) -> str:
        """The address of the REST API of the GitHub server at which this GitHub App is registered, without a
        slash at the end.
        """
        usual = "https://api.github.com" if self.host == "github.com" else f"{self.origin}/api/v3"
        return (self.api_url or usual).rstrip("/")

    @property
    def trust(self) -> AdditionalTrust | None:
        """The additional certificate authorities with which HTTPS certificates of the git host, its API and
        its sign-in are verified. None if there are none.
        """
        if self.certificate_authorities is None:
            return None
        stated = (self.origin, self.api_url, self.sign_in_url)
        return AdditionalTrust(self.certificate_authorities, tuple(url for url in stated if url))

    @property
    def sends_basic(self) -> bool:
        """Whether the application sends its id and secret by HTTP Basic authentication, and not as form
        fields.
        """
        return self.provider is GitProvider.BITBUCKET

    @property
    def _base(self) -> str:
        if self.sign_in_url:
            return self.sign_in_url.rstrip("/")
        if self.provider is GitProvider.AZURE_DEVOPS:
            return "https://login.microsoftonline.com/organizations"
        return self.origin
