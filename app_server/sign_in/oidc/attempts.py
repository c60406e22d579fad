"""Keeps the state of a sign-in that is under way in an encrypted cookie, so that only the browser that began
it can complete it.
"""

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
    """A sign-in that is under way.

    `state`: ties the provider's answer to this browser. `nonce`: ties the ID token to it. `verifier`: proves
    to the provider that the server that began the sign-in also exchanges the code (PKCE, RFC 7636).
    `connects`: the user whose account is to be connected with the provider; None means an ordinary sign-in.
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
    """Returns the name of the cookie. Over HTTPS it has the prefix `__Host-`: browsers then do not let pages
    of subdomains set it.
    """
    return _COOKIES[0 if config.base_url.startswith("https:") else 1]


def keep(attempt: Attempt, reply: Response, config: Config, cipher: Cipher) -> None:
    """Stores the attempt in the browser, as a cookie of the reply."""
    reply.set_cookie(
        cookie_name(config),
        seal(attempt, cipher),
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        # The provider's page leads back here. With "strict", browsers would not send the cookie then.
        samesite="lax",
        secure=config.base_url.startswith("https:"),
    )


def forget(reply: Response, config: Config) -> None:
    """Removes the attempt's cookie from the browser, because each attempt can be used only once."""
    secure = config.base_url.startswith("https:")
    reply.delete_cookie(cookie_name(config), httponly=True, samesite="lax", secure=secure)


def seal(attempt: Attempt, cipher: Cipher) -> str:
    """Returns the attempt as an encrypted cookie value."""
    return cipher.encrypt(attempt.model_dump_json())


def open_sealed(value: str | None, cipher: Cipher, *, provider: str, state: str) -> Attempt:
    """Decrypts the cookie value and returns the attempt that this browser began with this provider.

    Raises BadRequest `oidc_attempt_expired` if there is none, it has expired, or the provider or the state is
    another one.
    """
    try:
        attempt = Attempt.model_validate_json(cipher.decrypt(value or ""))
    except (ConfigurationError, ValidationError):
        raise attempt_expired() from None
    is_it = secrets.compare_digest(attempt.state.encode(), state.encode())
    if not is_it or attempt.provider != provider or attempt.expires_at < now():
        raise attempt_expired()
    return attempt
