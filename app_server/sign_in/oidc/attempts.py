"""A sign-in that is under way: what only the browser that began it can bring back."""

import secrets
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.sign_in.oidc.refusals import attempt_expired

LIFETIME = timedelta(minutes=10)
_COOKIES: Final = ("__Host-slipway_oidc", "slipway_oidc")


class Attempt(BaseModel):
    """state: ties the answer to this browser. nonce: ties the ID token to it. verifier: proves to the
    provider that the code is traded by the server that asked for it (PKCE, RFC 7636).
    connects: the user whose account is to be connected with the provider; None: a sign-in.
    """

    provider: str
    state: str
    nonce: str
    verifier: str
    expires_at: datetime
    connects: UUID | None = None

    @classmethod
    def begin(cls, provider: str, *, connects: UUID | None = None) -> "Attempt":
        return cls(
            provider=provider,
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            expires_at=now() + LIFETIME,
            connects=connects,
        )


def cookie_name(config: Config) -> str:
    """Over HTTPS the prefix makes browsers refuse it from pages of our subdomains."""
    return _COOKIES[0 if config.base_url.startswith("https:") else 1]


def keep(attempt: Attempt, reply: Response, config: Config, cipher: Cipher) -> None:
    """Puts it into the browser."""
    reply.set_cookie(
        cookie_name(config),
        seal(attempt, cipher),
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        # The provider's page leads back here, which "strict" would not count as ours.
        samesite="lax",
        secure=config.base_url.startswith("https:"),
    )


def forget(reply: Response, config: Config) -> None:
    """Takes it out of the browser: each attempt counts once."""
    secure = config.base_url.startswith("https:")
    reply.delete_cookie(cookie_name(config), httponly=True, samesite="lax", secure=secure)


def seal(attempt: Attempt, cipher: Cipher) -> str:
    """The value of the cookie."""
    return cipher.encrypt(attempt.model_dump_json())


def open_sealed(value: str | None, cipher: Cipher, *, provider: str, state: str) -> Attempt:
    """The attempt that this browser has begun with this provider.

    Raises BadRequest `oidc_attempt_expired` for anything else.
    """
    try:
        attempt = Attempt.model_validate_json(cipher.decrypt(value or ""))
    except (ConfigurationError, ValidationError):
        raise attempt_expired() from None
    is_it = secrets.compare_digest(attempt.state.encode(), state.encode())
    if not is_it or attempt.provider != provider or attempt.expires_at < now():
        raise attempt_expired()
    return attempt
