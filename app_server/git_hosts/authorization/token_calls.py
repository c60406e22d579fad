"""Calls the endpoints of git hosts that grant and revoke tokens. The replies of these endpoints are never
logged. Redirects are not followed, because the requests contain secrets.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from app_server.core.database import now
from app_server.core.errors import AppError, BadGateway
from app_server.git_hosts import errors
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.http.additional_trust import certificate_problem, trusting
from app_server.http.bounded_body import IDENTITY, read_body
from app_server.http.connection_errors import connection_problem

logger = logging.getLogger(__name__)

CALL_SECONDS = 20.0
MAX_REPLY_BYTES = 256 * 1024
_LIFE_BEFORE_RENEWAL = 0.8
_GRANT_ENDED = frozenset(("invalid_grant", "bad_refresh_token"))
_MAX_WORDS = 200


class TokenRefusal(Exception):
    """The error that is raised if the git host refuses to grant a token. `error`: the host's error code (RFC
    6749, section 5.2). `words`: the host's explanation.
    """

    def __init__(self, error: str, words: str = "") -> None:
        super().__init__(error)
        self.error = error[:_MAX_WORDS]
        self.words = words[:_MAX_WORDS]

    @property
    def ends_grant(self) -> bool:
        """Whether this error means that the refresh token is not valid any more, so that the user must
        connect to the git host again.
        """
        return self.error in _GRANT_ENDED


@dataclass(frozen=True)
class GrantedTokens:
    """The tokens that a git host has granted. `refresh_token`: None if the host has granted none. `scopes`:
    separated by spaces; None if the host does not say. `requested_at`: when Slipway sent the request for the
    tokens. `expires_at`: when the access token expires; None if it does not expire. If the host states only a
    lifetime, this time is calculated from `requested_at`. So it is never later than the time at which the
    token really expires.
    """

    access_token: str = field(repr=False)
    requested_at: datetime
    refresh_token: str | None = field(default=None, repr=False)
    scopes: str | None = None
    expires_at: datetime | None = None

    @property
    def renew_at(self) -> datetime | None:
        """The time at which the access token is to be renewed: when 80 % of its lifetime has passed. None if
        the token does not expire.
        """
        if self.expires_at is None:
            return None
        return self.requested_at + (self.expires_at - self.requested_at) * _LIFE_BEFORE_RENEWAL


async def ask_for_tokens(http: httpx.AsyncClient, app: OAuthApp, form: Mapping[str, str]) -> GrantedTokens:
    """Requests tokens from the token endpoint of the git host and returns them. `form`: the form fields of
    the request. The id and the secret of the application are added to these fields.

    Raises TokenRefusal if the host refuses. Raises BadGateway `git_host_failed` if the host does not reply.
    Raises Forbidden `private_address` if the host is in a private network.
    """
    requested_at = now()
    reply = await ask(http, app, app.token_url, form)
    token: Any = reply.get("access_token")
    refresh: Any = reply.get("refresh_token")
    if not _is_token(token) or not (refresh is None or _is_token(refresh)):
        raise errors.failed(app.host, "its answer contains no token")
    seconds: Any = reply.get("expires_in")
    scopes: Any = reply.get("scope")
    lives = isinstance(seconds, int | float) and seconds > 0
    return GrantedTokens(
        access_token=token,
        requested_at=requested_at,
        refresh_token=refresh,
        # GitHub separates scopes by commas.
        scopes=" ".join(scopes.replace(",", " ").split()) if isinstance(scopes, str) else None,
        expires_at=requested_at + timedelta(seconds=min(seconds, 10**9)) if lives else None,
    )


async def ask(http: httpx.AsyncClient, app: OAuthApp, url: str, form: Mapping[str, str]) -> dict[str, Any]:
    """Sends a form with the id and secret of the application to `url` at the git host, and returns the JSON
    object of the reply.

    Raises TokenRefusal if the reply states an OAuth error. Raises BadGateway `git_host_failed` if the host
    does not reply or the reply is not a JSON object. Raises Forbidden `private_address` if the host is in a
    private network.
    """
    named = {"client_id": app.client_id}
    basic: tuple[str, str] | None = None
    if app.sends_basic:
        named, basic = {}, (quote(app.client_id, safe=""), quote(app.client_secret or "", safe=""))
    elif app.client_secret is not None:
        named["client_secret"] = app.client_secret
    status, content = await send(http, app, "POST", url, data={**form, **named}, basic=basic)
    try:
        reply = orjson.loads(content)
    except ValueError:
        reply = None
    if isinstance(reply, dict) and isinstance(error := reply.get("error"), str):
        # GitHub answers 200 with an error.
        raise TokenRefusal(error, str(reply.get("error_description") or ""))
    if not httpx.codes.is_success(status) or not isinstance(reply, dict):
        raise errors.failed(app.host, f"it answered {status} at {url}")
    return reply


async def send(
    http: httpx.AsyncClient,
    app: OAuthApp,
    method: str,
    url: str,
    *,
    data: Mapping[str, str] | None = None,
    json: Any = None,
    basic: tuple[str, str] | None = None,
    bearer: str | None = None,
) -> tuple[int, bytes]:
    """Sends an HTTP request about tokens or app installations to the git host and returns the status and the
    body of the reply. `data`: form fields. `json`: a value that is sent as JSON. `basic`: a user name and
    password for HTTP Basic authentication. `bearer`: a bearer token.

    Raises BadGateway `git_host_failed` if the host does not reply. Raises Forbidden `private_address` if the
    host is in a private network.
    """
    headers = {"Accept": "application/json", "User-Agent": "slipway", **IDENTITY}
    if bearer is not None:
        headers["Authorization"] = f"Bearer {bearer}"
    auth = httpx.BasicAuth(*basic) if basic else httpx.Auth()
    try:
        async with trusting(http, app.trust).stream(
            method, url, data=data, json=json, headers=headers, auth=auth,
            timeout=CALL_SECONDS, follow_redirects=False,
        ) as reply:  # fmt: skip
            return reply.status_code, await read_body(reply, MAX_REPLY_BYTES, CALL_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if problem := certificate_problem(error):
            raise errors.untrusted(app.host, problem) from error
        logger.info("a git host grants no token", extra={"host": app.host, "cause": type(error).__name__})
        raise errors.failed(app.host, f"it did not answer: {connection_problem(app.host, error)}") from error


def refused(app: OAuthApp, refusal: TokenRefusal) -> AppError:
    """Converts a TokenRefusal to the error that the user sees: a BadGateway with the code
    `git_sign_in_refused`. `refusal`: states the host's error code and explanation, which the error's message
    contains.
    """
    words = f": {refusal.words}" if refusal.words else ""
    return BadGateway(
        f"{app.host} refuses the sign-in ({refusal.error}{words}).",
        code="git_sign_in_refused",
        fix="Start it again. If that does not help, an administrator has to check the application.",
    )


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and 4 <= len(value) <= 4000
