"""Stores the state of a sign-in by OpenID Connect between its HTTP requests. The state is in an encrypted
cookie, so that only the browser that began the sign-in can complete it.
"""

import secrets
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ValidationError

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.http.encrypted_cookie import EncryptedCookie
from app_server.sign_in.identities.refusals import attempt_expired

LIFETIME = timedelta(minutes=10)
COOKIE: Final = EncryptedCookie("slipway_oidc", LIFETIME)


class Attempt(BaseModel):
    """An OpenID Connect sign-in that a browser has begun and not completed.

    `state`: a random text that proves that the provider's redirect belongs to this sign-in. `nonce`: a random
    text that proves that the ID token belongs to this sign-in. `verifier`: a random text that Slipway sends
    when it exchanges the authorization code for tokens. Another program that has stolen the code does not
    know this text (PKCE, RFC 7636). `connects`: the user whose account is to be connected with the provider;
    None means an ordinary sign-in.
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


def encrypt(attempt: Attempt, cipher: Cipher) -> str:
    """Encrypts the state of a sign-in that has begun (`attempt`) and returns the value of its cookie."""
    return cipher.encrypt(attempt.model_dump_json())


def decrypt(value: str | None, cipher: Cipher, *, provider: str, state: str) -> Attempt:
    """Returns the OpenID Connect sign-in that this browser has begun. `value`: the encrypted value of the
    browser's cookie. `state`: the value of the parameter `state` in the URL to which the provider has sent
    the browser back.

    Raises BadRequest `oidc_attempt_expired` if the cookie is missing or unreadable, if the sign-in has
    expired, or if it began with another provider or another `state`.
    """
    try:
        attempt = Attempt.model_validate_json(cipher.decrypt(value or ""))
    except (ConfigurationError, ValidationError):
        raise attempt_expired("oidc") from None
    is_it = secrets.compare_digest(attempt.state.encode(), state.encode())
    if not is_it or attempt.provider != provider or attempt.expires_at < now():
        raise attempt_expired("oidc")
    return attempt
