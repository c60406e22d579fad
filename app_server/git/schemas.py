"""Wire schemas for tokens of git hosts. Tokens are received and never sent."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, StringConstraints

from app_server.core.database import Id, Timestamp
from app_server.git.address import origin_of
from app_server.git.models import GitCredential, PushScope


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
        raise ValueError("this is no token: it has characters that none can have")
    return token


Origin = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_origin)]
Token = Annotated[SecretStr, Field(min_length=4, max_length=4000), AfterValidator(_printable)]
Username = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^:\x00-\x1f]*$")
]


class SaveGitCredential(BaseModel):
    """A new token for a git host. username: only for hosts that require a certain user name."""

    host: Origin
    token: Token
    username: Username | None = None
    push_scope: PushScope = PushScope.OWN


class ChangeGitCredential(BaseModel):
    """Changes of a stored token. Fields that are left out stay as they are."""

    token: Token | None = None
    username: Username | None = None
    push_scope: PushScope | None = None


class GitCredentialInfo(BaseModel):
    """A stored token without its value. host: a host name, or a URL if the host is not reached over https."""

    id: Id
    host: str
    username: str | None
    push_scope: PushScope
    updated_at: Timestamp

    @classmethod
    def of(cls, row: GitCredential) -> Self:
        return cls(
            id=row.id,
            host=row.origin.removeprefix("https://"),
            username=row.username,
            push_scope=row.push_scope,
            updated_at=row.updated_at,
        )
