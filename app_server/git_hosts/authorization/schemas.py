"""Request bodies and replies of the routes for OAuth applications at git hosts and for sign-ins. Requests
contain secrets. Replies never contain secrets.
"""

from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)

from app_server.core.database import Id, Timestamp
from app_server.git.certificate_authorities import CertificateAuthorities
from app_server.git.models import GitOAuthApp
from app_server.git.providers import GitProvider
from app_server.git.schemas import ApiUrl, GitCredentialInfo, Origin
from app_server.git_hosts.authorization.endpoints import DEVICE_PROVIDERS
from app_server.http.strict_body import StrictBody

_Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300, pattern=r"^[!-~]+$")
]
_Scopes = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000, pattern=r"^[!-~ ]*$")]


def _secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value.isascii() or not value.isprintable():
        raise ValueError("this is not a client secret: it has characters that a client secret cannot have")
    return secret


def _private_key(key: SecretStr) -> SecretStr:
    try:
        if RSAKey.import_key(key.get_secret_value().strip()).is_private:
            return SecretStr(key.get_secret_value().strip() + "\n")
    except (JoseError, ValueError, TypeError):
        pass
    raise ValueError("this is not a private RSA key in PEM form")


ClientSecret = Annotated[SecretStr, Field(min_length=4, max_length=1000), AfterValidator(_secret)]
PrivateKey = Annotated[SecretStr, Field(min_length=100, max_length=20_000), AfterValidator(_private_key)]


class SaveGitApp(BaseModel):
    """The request body that registers an OAuth application or a GitHub App of a git host.

    client_secret: null for an application without a secret. private_key: PEM, only for GitHub Apps. api_url:
    the address of the host's API; null for the usual address. sign_in_url: the base URL of the sign-in
    endpoints; null for the usual one; for Azure DevOps `https://login.microsoftonline.com/TENANT`. scopes:
    separated by spaces; null means the scopes that Slipway needs. certificate_authorities: additional
    certificate authorities for the host, its API and its sign-in, in PEM form, at most 64 KiB; they also
    apply to calls with the tokens of users who sign in with the application.
    """

    model_config = ConfigDict(extra="forbid")

    host: Origin
    provider: GitProvider
    client_id: _Name
    client_secret: ClientSecret | None = None
    private_key: PrivateKey | None = None
    api_url: ApiUrl | None = None
    sign_in_url: ApiUrl | None = None
    scopes: _Scopes | None = None
    certificate_authorities: CertificateAuthorities | None = None

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.private_key is not None and self.provider is not GitProvider.GITHUB:
            raise ValueError("only a GitHub App has a private key")
        return self


class GitAppInfo(BaseModel):
    """The reply about a registered OAuth application or GitHub App, without its secrets. callback_url: the
    callback address that an administrator must enter at the git host. certificate_authorities: PEM; null if
    there are none.
    """

    id: Id
    host: str
    provider: GitProvider
    client_id: str
    has_client_secret: bool
    has_private_key: bool
    api_url: str | None
    sign_in_url: str | None
    scopes: str | None
    certificate_authorities: str | None
    callback_url: str
    updated_at: Timestamp

    @classmethod
    def of(cls, row: GitOAuthApp, callback_url: str) -> Self:
        return cls(
            id=row.id,
            host=row.origin.removeprefix("https://"),
            provider=row.provider,
            client_id=row.client_id,
            has_client_secret=row.client_secret_encrypted is not None,
            has_private_key=row.private_key_encrypted is not None,
            api_url=row.api_url,
            sign_in_url=row.sign_in_url,
            scopes=row.scopes,
            certificate_authorities=row.certificate_authorities,
            callback_url=callback_url,
            updated_at=row.updated_at,
        )


class GitApps(BaseModel):
    """The reply of list_git_apps: all registered applications, and the callback address that an administrator
    must enter at the git hosts.
    """

    callback_url: str
    apps: list[GitAppInfo]


class SignInHost(BaseModel):
    """A git host that users can sign in to. `app_id`: the registered application with which they sign in.
    `has_device_flow`: whether the host offers a second way to sign in: the user types a code at the host.
    This way works even if the host's browser redirect to Slipway (the callback address) is not set up.
    """

    app_id: Id
    host: str
    provider: GitProvider
    has_device_flow: bool

    @classmethod
    def of(cls, row: GitOAuthApp) -> Self:
        return cls(
            app_id=row.id,
            host=row.origin.removeprefix("https://"),
            provider=row.provider,
            has_device_flow=row.provider in DEVICE_PROVIDERS,
        )


class StartGitSignIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    app_id: UUID


class GitSignInStarted(BaseModel):
    """The reply to a request that starts a sign-in to a git host. `authorization_url`: the address that the
    user's browser must open.
    """

    authorization_url: str


class FinishGitSignIn(StrictBody):
    """The request body that finishes a sign-in: the query parameters with which the git host sent the browser
    back to Slipway. `code`: null if the host has refused the sign-in. `error`: the reason of a refusal; null
    if there is none.
    """

    state: Annotated[str, Field(min_length=1, max_length=500)]
    code: Annotated[str | None, Field(max_length=4096)] = None
    error: Annotated[str | None, Field(max_length=500)] = None


class GitDeviceCode(BaseModel):
    """The reply to a request that starts a sign-in by a code: the user must type `user_code` at the address
    `verification_uri`. `attempt`: the encrypted data of the sign-in, which the client sends with its next
    request to `/device/poll`; only the session that started the sign-in can use it. `interval`: how many
    seconds the client must wait before it sends this request.
    """

    attempt: str
    user_code: str
    verification_uri: str
    interval: float
    expires_at: Timestamp


class AskAboutDevice(BaseModel):
    model_config = ConfigDict(extra="forbid")

    attempt: Annotated[str, Field(max_length=10_000)]


class DeviceStatus(StrEnum):
    PENDING = "pending"
    CONNECTED = "connected"


class GitDeviceState(BaseModel):
    """The state of a sign-in in which the user types a code at the git host: the reply of `/device/poll`.

    `status`: `pending` if the user has not typed the code yet, or `connected` if the sign-in is complete.
    `attempt`: the encrypted data of the sign-in, which the client sends with its next request to
    `/device/poll`. `interval`: how many seconds the client must wait before this request. `attempt` and
    `interval` are null if the sign-in is complete. `credential`: the stored credential; null if the sign-in
    is not complete.
    """

    status: DeviceStatus
    attempt: str | None = None
    interval: float | None = None
    credential: GitCredentialInfo | None = None
