"""Requests tokens for installations of GitHub Apps. Such a token is valid for an hour. If the caller names a
repository, the token is valid for this repository only.

Source: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import orjson
from pydantic import BaseModel, ValidationError

from app_server.core.database import now
from app_server.core.errors import AppError, BadGateway, Conflict
from app_server.git_hosts import errors
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.token_calls import GrantedTokens, send

MAX_CACHED = 1000
_CLOCK_DIFFERENCE = timedelta(seconds=60)
_LIFE_OF_PROOF = timedelta(minutes=9)
_STILL_VALID = timedelta(minutes=5)
_NO_SUCH_REPOSITORY = frozenset((404, 422))


class Installation(BaseModel):
    """An installation of a GitHub App, which gives the app access to repositories of one account. `account`:
    this account, the user or organisation that has installed the app.
    """

    id: str
    account: str
    has_all_repositories: bool


class RepositoryTokens:
    """A cache of installation tokens that are valid for one repository each. Keeps a token until five minutes
    before the token expires. Keeps at most MAX_CACHED tokens; a further token replaces the oldest.
    """

    def __init__(self) -> None:
        self._cached: dict[tuple[UUID, str], tuple[str, datetime]] = {}

    async def token(
        self,
        http: httpx.AsyncClient,
        app: OAuthApp,
        installation_id: str,
        credential_id: UUID,
        repository: str,
        *,
        refused: str | None,
    ) -> str | None:
        """Returns a token of a GitHub App's installation that is valid for this repository only. Returns None
        if the repository is not part of the installation. `credential_id`: the id of the user's stored
        credential; the cache has one token for each credential and repository. `repository`: `owner/name`.
        `refused`: a token that GitHub has refused, so that it is not returned again; None if there is none.

        Raises Conflict `git_app_has_no_key` if the app has no private key. Raises BadGateway
        `git_app_refused` if GitHub refuses the app. Raises BadGateway `git_host_failed` if GitHub does not
        reply.
        """
        key = (credential_id, repository.casefold())
        token, ends = self._cached.get(key, ("", now()))
        if token != refused and now() < ends - _STILL_VALID:
            return token
        self._cached.pop(key, None)
        granted = await installation_token(http, app, installation_id, repository=repository)
        if granted is None or granted.expires_at is None:
            return None
        self._cached[key] = (granted.access_token, granted.expires_at)
        if len(self._cached) > MAX_CACHED:
            del self._cached[next(iter(self._cached))]
        return granted.access_token


async def installations_of(http: httpx.AsyncClient, app: OAuthApp) -> list[Installation]:
    """Returns the installations of a GitHub App, at most 100. Raises Conflict `git_app_has_no_key` if the app
    has no private key. Raises BadGateway `git_app_refused` if GitHub refuses the app. Raises BadGateway
    `git_host_failed` if GitHub does not reply.
    """
    url = f"{app.api}/app/installations?per_page=100"
    status, content = await send(http, app, "GET", url, bearer=_proof_of(app))
    found = _checked(app, status, content)
    try:
        return [
            Installation(
                id=str(one["id"]),
                account=one["account"]["login"],
                has_all_repositories=one.get("repository_selection") == "all",
            )
            for one in found
        ]
    except (KeyError, TypeError, ValidationError) as error:
        raise errors.failed(app.host, "its answer has an unknown form") from error


async def installation_token(
    http: httpx.AsyncClient, app: OAuthApp, installation_id: str, *, repository: str | None = None
) -> GrantedTokens | None:
    """Requests a new token of an installation of a GitHub App from GitHub and returns it. `repository`: the
    only repository that the token is for; None means all repositories of the installation. Returns None if
    the repository is not part of the installation.

    Raises Conflict `git_app_has_no_key` if the app has no private key. Raises BadGateway `git_app_refused` if
    GitHub refuses the app. Raises BadGateway `git_host_failed` if GitHub does not reply.
    """
    url = f"{app.api}/app/installations/{int(installation_id)}/access_tokens"
    body = {"repositories": [repository.rpartition("/")[2]]} if repository else {}
    requested_at = now()
    status, content = await send(http, app, "POST", url, json=body, bearer=_proof_of(app))
    if repository and status in _NO_SUCH_REPOSITORY:
        return None
    granted = _checked(app, status, content)
    try:
        if repository and granted["repositories"][0]["full_name"].casefold() != repository.casefold():
            return None  # a repository of another owner with the same name
        return GrantedTokens(
            access_token=granted["token"],
            requested_at=requested_at,
            scopes=" ".join(f"{name}:{level}" for name, level in sorted(granted["permissions"].items())),
            expires_at=datetime.fromisoformat(granted["expires_at"]),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise errors.failed(app.host, "its answer has an unknown form") from error


def _proof_of(app: OAuthApp) -> str:
    """Returns a JWT that proves to GitHub that a request comes from the app (RS256, valid for at most ten
    minutes).
    """
    # Loaded here: most servers have no GitHub App.
    from joserfc import jwt
    from joserfc.jwk import RSAKey

    if app.private_key is None:
        raise Conflict(
            "This application has no private key.",
            code="git_app_has_no_key",
            fix="Save it again with the private key of the GitHub App.",
        )
    began = now()
    claims = {
        "iat": int((began - _CLOCK_DIFFERENCE).timestamp()),
        "exp": int((began + _LIFE_OF_PROOF).timestamp()),
        "iss": app.client_id,
    }
    return jwt.encode({"alg": "RS256"}, claims, RSAKey.import_key(app.private_key))


def _checked(app: OAuthApp, status: int, content: bytes) -> Any:
    if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.NOT_FOUND}:
        raise _refused(app, status)
    if not httpx.codes.is_success(status):
        raise errors.failed(app.host, f"it answered {status}")
    try:
        return orjson.loads(content)
    except ValueError as error:
        raise errors.failed(app.host, "its answer has an unknown form") from error


def _refused(app: OAuthApp, status: int) -> AppError:
    return BadGateway(
        f"{app.host} refuses the GitHub App (HTTP {status}).",
        code="git_app_refused",
        fix="Check its client ID, its private key, and whether it is still installed.",
    )
