"""Request bodies and replies of the routes for tokens of git hosts. Requests contain tokens. Replies never
contain tokens.
"""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, StringConstraints, model_validator

from app_server.core.database import Id, Timestamp
from app_server.git.address import origin_of
from app_server.git.certificate_authorities import CertificateAuthorities
from app_server.git.models import GitCredential, GitGrant, PushScope
from app_server.git.providers import GitProvider, provider_of
from app_server.http.strict_body import StrictBody


def _origin(host: str) -> str:
    text = host.strip()
    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme in {"http", "https"} and not (parts.path.strip("/") or parts.query)
        if is_plain and parts.hostname and "@" not in parts.netloc and not any(map(str.isspace, url)):
            return origin_of(url)
    except ValueError:
        is_plain = False
    raise ValueError("give the host alone, as in github.com, git.example.org:8443 or http://git.local")


def _printable(token: SecretStr) -> SecretStr:
    value = token.get_secret_value()
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("this is not a token: it has characters that a token cannot have")
    return token


Origin = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_origin)]
Token = Annotated[SecretStr, Field(min_length=4, max_length=4000), AfterValidator(_printable)]
Username = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^:\x00-\x1f]*$")
]


def _api_url(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("give the whole address of the API, as in https://git.example.org/api/v4")
    if "@" in parts.netloc:
        raise ValueError("the address of the API contains no user")
    return url.strip().rstrip("/")


ApiUrl = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_api_url)]


class SaveGitCredential(StrictBody):
    """The request body that stores a new token for a git host. `username`: only for hosts that require a
    certain user name.

    `provider`: the kind of the host; null means that the kind is guessed from the host's name. `api_url`: the
    address of the host's API; null means the usual address for hosts of this kind. `certificate_authorities`:
    additional certificate authorities for this host only, in PEM form, at most 64 KiB; null means none.
    """

    host: Origin
    token: Token
    provider: GitProvider | None = None
    api_url: ApiUrl | None = None
    certificate_authorities: CertificateAuthorities | None = None
    username: Username | None = None
    push_scope: PushScope = PushScope.OWN


class ChangeGitCredential(StrictBody):
    """The request body that changes a stored token for a git host. Fields that are left out do not change.

    `provider`, `api_url`: allowed only if the request also contains a new `token`. Otherwise a request could
    cause Slipway to send the stored token to another address. A new provider without an `api_url` removes the
    stored API address. `certificate_authorities`: an empty text removes the stored certificate authorities.
    """

    token: Token | None = None
    provider: GitProvider | None = None
    api_url: ApiUrl | None = None
    certificate_authorities: CertificateAuthorities | None = None
    username: Username | None = None
    push_scope: PushScope | None = None

    @model_validator(mode="after")
    def _new_address_with_new_token(self) -> Self:
        if self.token is None and (self.api_url is not None or self.provider is not None):
            raise ValueError("give the token again with another kind of host or address of the API")
        return self


class GitCredentialInfo(BaseModel):
    """The reply about one stored token for a git host, without the token's value. host: a host name, or a URL
    if the host is not reached over https.

    provider: the kind of the host, as the user has stated it, or else as guessed from the host's name.
    has_stated_provider: whether the user has stated the provider. certificate_authorities: additional
    certificate authorities for the host, in PEM form; null if there are none.

    is_signed_in: true if a sign-in at the host granted the token; false if the user pasted it.
    installation_id: if the token belongs to an installation of a GitHub App, the id of this installation;
    otherwise null. scopes: what the token may do, as the host stated when it granted the token. If the host
    stated no scopes, these are the scopes that Slipway requested; null if there are none. expires_at: when
    the token expires; null if it does not expire or the host did not say. needs_reconnect: true if a renewal
    of the token has failed for good, so that the user must sign in to the host again.
    """

    id: Id
    host: str
    provider: GitProvider
    has_stated_provider: bool
    api_url: str | None
    certificate_authorities: str | None
    username: str | None
    push_scope: PushScope
    updated_at: Timestamp
    is_signed_in: bool = False
    installation_id: str | None = None
    scopes: str | None = None
    expires_at: Timestamp | None = None
    needs_reconnect: bool = False

    @classmethod
    def of(cls, row: GitCredential, grant: GitGrant | None = None) -> Self:
        return cls(
            id=row.id,
            host=row.origin.removeprefix("https://"),
            provider=provider_of(row.origin, row.provider)[0],
            has_stated_provider=row.provider is not None,
            api_url=row.api_url,
            certificate_authorities=row.certificate_authorities,
            username=row.username,
            push_scope=row.push_scope,
            updated_at=row.updated_at,
            is_signed_in=grant is not None,
            installation_id=grant.installation_id if grant else None,
            scopes=grant.scopes if grant else None,
            expires_at=grant.expires_at if grant else None,
            needs_reconnect=grant is not None and grant.is_refused,
        )
