"""The request and reply models of the API for credentials that the egress proxy adds to requests. Replies
never contain the value of a credential.
"""

import re
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)

from app_server.core.addresses import parse_host
from app_server.core.database import Id, Timestamp
from app_server.core.pagination import Page
from app_server.egress.attribution import Attribution, OccupantInfo, possible
from app_server.egress.models import (
    MAX_PREFIX_CHARACTERS,
    CredentialKind,
    CredentialScope,
    EgressCredential,
    EgressCredentialUse,
)
from app_server.egress.schemas import RepositoryText
from app_server.http.response_redaction import MIN_CHARACTERS
from app_server.http.strict_body import StrictBody

_FRAMING = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "expect", "te", "trailer", "upgrade")
)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def _one_host(text: str) -> str:
    return parse_host(text.strip())


def _header(name: str) -> str:
    if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING or name.lower().startswith("proxy-"):
        raise ValueError("a credential cannot be sent in this header")
    return name


def _prefix(text: str) -> str:
    path = text.strip().rstrip("/")
    if any(part in {".", ".."} for part in path.split("/")):
        raise ValueError("a path cannot have . or .. in it")
    return path


def _printable(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable() or text != text.strip():
        raise ValueError("a header cannot contain this: use printable ASCII, without spaces around it")
    return value


class SaveNetworkCredential(StrictBody):
    """A request to save a credential that the egress proxy adds to requests of sandboxes to one https host.

    path_prefix: limits the credential to this path and the paths below it; empty for all paths. scope: the
    sandboxes whose requests get the credential. repository: the repository for the scope `repository`, else
    null. kind: the form in which the credential is sent. username: the user name for the kind `basic`.
    header: the name of the header for the kind `header`. value: the secret. allow: if true, the host is also
    added to the allowed hosts in the network settings, except for the scope `server`.
    """

    host: Annotated[str, StringConstraints(min_length=1, max_length=255), AfterValidator(_one_host)]
    port: Annotated[int, Field(ge=1, le=65535)] = 443
    path_prefix: Annotated[
        str,
        StringConstraints(max_length=MAX_PREFIX_CHARACTERS, pattern=r"^\s*(/[A-Za-z0-9._~@:+-]+)*/?\s*$"),
        AfterValidator(_prefix),
    ] = ""
    scope: CredentialScope = CredentialScope.USER
    repository: RepositoryText | None = None
    kind: CredentialKind = CredentialKind.BEARER
    username: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^:\x00-\x1f\x7f]*$")] = ""
    header: Annotated[str, StringConstraints(max_length=100)] = ""
    value: Annotated[SecretStr, Field(min_length=MIN_CHARACTERS, max_length=8000), AfterValidator(_printable)]
    allow: bool = True

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        if (self.scope is CredentialScope.REPOSITORY) != (self.repository is not None):
            raise ValueError("a repository is named for the scope `repository`, and for no other")
        if self.kind is CredentialKind.HEADER:
            _header(self.header)
        elif self.header:
            raise ValueError("a header is named for the kind `header` alone")
        if self.username and self.kind is not CredentialKind.BASIC:
            raise ValueError("a user name goes with the kind `basic` alone")
        return self


class NetworkCredential(BaseModel):
    """A credential that the egress proxy adds to requests of sandboxes to one https host, without its value.

    repository: the identity of the repository (`host/owner/name` or a path) for the scope `repository`, else
    null. is_own: whether the current user may replace and delete the credential. is_allowed: whether the
    user's sandboxes may call the host.
    """

    id: Id
    host: str
    port: int
    path_prefix: str
    scope: CredentialScope
    repository: str | None
    kind: CredentialKind
    username: str
    header: str
    is_own: bool
    is_allowed: bool
    last_used_at: Timestamp | None
    updated_at: Timestamp

    @classmethod
    def of(cls, row: EgressCredential, *, is_own: bool, is_allowed: bool) -> Self:
        return cls(
            id=row.id,
            host=row.host,
            port=row.port,
            path_prefix=row.path_prefix,
            scope=row.scope,
            repository=row.subject or None,
            kind=row.kind,
            username=row.username,
            header=row.header,
            is_own=is_own,
            is_allowed=is_allowed,
            last_used_at=row.last_used_at,
            updated_at=row.updated_at,
        )


class NetworkCredentialUse(BaseModel):
    """One request of a sandbox that the egress proxy added a credential to.

    conversations: the conversations that used the sandbox at the time of the request and still exist. Each of
    them may have made the request. path: the path of the request without the query.
    """

    id: Id
    sandbox_id: Id
    conversations: list[OccupantInfo]
    method: str
    path: str
    at: Timestamp

    @classmethod
    def of(cls, row: EgressCredentialUse, attribution: Attribution) -> Self:
        return cls(
            id=row.id,
            sandbox_id=row.sandbox_id,
            conversations=possible(attribution, row.sandbox_id, row.at),
            method=row.method,
            path=row.path,
            at=row.at,
        )


class NetworkCredentialUsePage(Page[NetworkCredentialUse]):
    pass
