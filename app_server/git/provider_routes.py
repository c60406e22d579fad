"""Routes that store and delete a user's tokens for git hosts. The routes are compatible with OpenHands' API,
so they use its names for providers (kinds of git hosts).
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, TypeAdapter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Session
from app_server.core.encryption import ServerCipher
from app_server.core.errors import BadRequest
from app_server.core.success_reply import Done
from app_server.git import credentials
from app_server.git.providers import HOSTS, GitProvider
from app_server.git.schemas import Origin, Token

router = APIRouter(prefix="/api/v1", tags=["Git"])

_ORIGIN: TypeAdapter[str] = TypeAdapter(Origin)
_MAX_PROVIDERS = 20


def _none_if_empty(token: Any) -> Any:
    return None if token == "" else token


_GivenToken = Annotated[
    Token | None, BeforeValidator(_none_if_empty, json_schema_input_type=SecretStr | None)
]


class ProviderToken(BaseModel):
    """A token for one provider (kind of git host) in the request body of save_provider_tokens. If `token` is
    missing or empty, the stored token is not changed. `host`: the name or URL of the git host; null means the
    usual host of the provider, such as `github.com`. A provider without a usual host needs `host`.
    """

    model_config = ConfigDict(extra="forbid")

    token: _GivenToken = None
    host: Annotated[str, Field(max_length=300)] | None = None
    user_id: None = None


class SaveProviderTokens(BaseModel):
    model_config = ConfigDict(extra="forbid")

    provider_tokens: Annotated[dict[str, ProviderToken], Field(max_length=_MAX_PROVIDERS)] = {}
    mcp_config: None = None


@router.post("/secrets/git-providers")
async def save_provider_tokens(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SaveProviderTokens, cipher: ServerCipher
) -> Done:
    """Stores the given tokens for git hosts. A stored token for the same host is replaced. Stored tokens for
    other hosts do not change.
    """
    for provider, given in body.provider_tokens.items():
        origin = _origin_of(provider, given.host)
        if given.token:
            kind = GitProvider(provider)
            await credentials.save_token(session, cipher, user.id, origin, given.token, kind)
            target = (AuditTarget.GIT_HOST, origin)
            trail.record(session, AuditAction.GIT_CREDENTIAL_CHANGED, target, has_new_token=True)
    return Done(message="The tokens are saved.")


@router.delete("/secrets/git-providers")
async def delete_provider_tokens(user: CurrentUser, trail: CurrentTrail, session: Session) -> Done:
    """Deletes the user's tokens for all git hosts."""
    for row in await credentials.list_credentials(session, user.id):
        await credentials.delete_credential(session, user.id, row.id)
        trail.record(session, AuditAction.GIT_CREDENTIAL_DELETED, (AuditTarget.GIT_HOST, row.origin))
    return Done(message="The tokens are deleted.")


def _origin_of(provider: str, host: str | None) -> str:
    if provider not in {*GitProvider}:
        raise BadRequest(f"There is no git provider {provider!r}.", code="git_provider_unknown")
    if not (name := host or HOSTS[GitProvider(provider)]):
        raise BadRequest(f"{provider} needs a host.", code="git_host_missing")
    return checked_origin(name)


def checked_origin(host: str) -> str:
    """Returns the origin of a git host, such as `https://github.com`. `host`: the name or URL that the user
    gives. Raises BadRequest `git_host_wrong` if this is not the name or URL of a host.
    """
    try:
        return _ORIGIN.validate_python(host)
    except ValueError as error:
        raise BadRequest("This is not the name of a host.", code="git_host_wrong") from error
