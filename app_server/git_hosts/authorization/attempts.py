"""Stores the data of an unfinished sign-in to a git host as an encrypted value in the user's browser. The
server stores nothing, so any app server can complete the sign-in.
"""

import secrets
from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, BadRequest, ConfigurationError
from app_server.http.encrypted_cookie import EncryptedCookie

LIFETIME = timedelta(minutes=10)
COOKIE: Final = EncryptedCookie("slipway_git", LIFETIME)


class _Attempt(BaseModel):
    """An unfinished sign-in to a git host. `user_id`: the user who signs in. `credential_id`: the Slipway
    session or API key with which the user began the sign-in.
    """

    app_id: UUID
    user_id: UUID
    credential_id: UUID
    expires_at: datetime


class RedirectAttempt(_Attempt):
    """An unfinished sign-in in which the git host sends the browser back with a code, which Slipway exchanges
    for tokens. `state`: a random text that the host sends back with the code. It proves to Slipway that the
    code belongs to this browser's sign-in. `verifier`: a random secret that Slipway sends with the code. It
    proves to the host that the program that exchanges the code has also begun the sign-in (PKCE, RFC 7636).
    """

    kind: str = "redirect"
    state: str
    verifier: str
    redirect_uri: str

    @classmethod
    def begin(cls, app_id: UUID, user_id: UUID, credential_id: UUID, redirect_uri: str) -> "RedirectAttempt":
        return cls(
            app_id=app_id,
            user_id=user_id,
            credential_id=credential_id,
            expires_at=now() + LIFETIME,
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
        )

    def require_state(self, state: str) -> None:
        """Checks that `state`, which the git host has sent back through the browser, is the `state` of this
        sign-in. Raises BadRequest `git_sign_in_expired` if the two texts differ.
        """
        if not secrets.compare_digest(self.state.encode(), state.encode()):
            raise expired()


class DeviceAttempt(_Attempt):
    """An unfinished sign-in by a code that the user types at the git host (RFC 8628). `interval`: the seconds
    between two requests that ask the host whether the user has typed the code. `ask_at`: the earliest time of
    the next such request.
    """

    kind: str = "device"
    device_code: str
    interval: float
    ask_at: datetime


AttemptKind = TypeVar("AttemptKind", RedirectAttempt, DeviceAttempt)


def encrypt(attempt: _Attempt, cipher: Cipher) -> str:
    return cipher.encrypt(attempt.model_dump_json())


def decrypt(
    kind: type[AttemptKind], encrypted: str | None, cipher: Cipher, user_id: UUID, credential_id: UUID
) -> AttemptKind:
    """Decrypts the data of an unfinished sign-in and returns the sign-in. `kind`: the expected kind of
    sign-in, by redirect or by code. `encrypted`: the data; None if the browser sent none. Raises BadRequest
    `git_sign_in_expired` if the sign-in has expired or is of another kind, if another user or session began
    it, or if the data are missing or cannot be decrypted.
    """
    try:
        attempt = kind.model_validate_json(cipher.decrypt(encrypted or ""))
    except (ConfigurationError, ValidationError):
        raise expired() from None
    is_own = (attempt.user_id, attempt.credential_id) == (user_id, credential_id)
    if not is_own or attempt.kind != kind.model_fields["kind"].default or attempt.expires_at < now():
        raise expired()
    return attempt


def expired() -> AppError:
    return BadRequest(
        "This sign-in was not begun in this browser, or has expired.",
        code="git_sign_in_expired",
        fix="Start it again in the settings, under Git hosts.",
    )
