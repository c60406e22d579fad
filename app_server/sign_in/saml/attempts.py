"""Stores the state of a SAML sign-in between its requests.

The provider's page sends its response as a form to Slipway, and browsers send no cookie of Slipway with this
form. Therefore Slipway checks the response first, encrypts the result, and redirects the browser to an
address that contains it. With this second request the browser sends the cookie, which proves that this
browser began the sign-in.
"""

from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from app_server.core.database import now
from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.http.encrypted_cookie import EncryptedCookie
from app_server.sign_in.identities.identity import ProviderIdentity
from app_server.sign_in.identities.refusals import attempt_expired
from app_server.sign_in.saml.statements import SubjectAtProvider

LIFETIME = timedelta(minutes=10)
ANSWER_LIFETIME = timedelta(minutes=1)
COOKIE: Final = EncryptedCookie("slipway_saml", LIFETIME)


_State = TypeVar("_State", "SamlAttempt", "SamlAnswer")


class SamlAttempt(BaseModel):
    """A SAML sign-in that a browser has begun and not completed.

    `request_id`: the id of Slipway's request, which the provider's response must name. `connects`: the user
    whose account is to be connected with the provider; None means an ordinary sign-in.
    """

    provider: str
    request_id: str
    expires_at: datetime
    connects: UUID | None = None

    @classmethod
    def begin(cls, provider: str, request_id: str, *, connects: UUID | None = None) -> "SamlAttempt":
        return cls(provider=provider, request_id=request_id, expires_at=now() + LIFETIME, connects=connects)


class SamlAnswer(BaseModel):
    """The verified response of a SAML provider, in the form that is encrypted and sent through the browser.

    `in_response_to`: the id of Slipway's sign-in request. `assertion_id`: the id of the SAML assertion (the
    provider's statement about the person), which can be used once. `valid_until`: the end of the assertion's
    validity, a little later than the provider has set it (see Statement). `expires_at`: the end of the
    encrypted response's validity, as Slipway has set it. `subject`: the data with which Slipway can later
    sign the person out at the provider; None if the response has no such data.
    """

    provider: str
    in_response_to: str
    assertion_id: str
    valid_until: datetime
    identity: ProviderIdentity
    subject: SubjectAtProvider | None
    expires_at: datetime


def encrypt(state: SamlAttempt | SamlAnswer, cipher: Cipher) -> str:
    """Encrypts the state of a SAML sign-in, so that the browser can store it and send it back. Returns the
    encrypted text.

    `state`: a SamlAttempt, which the browser stores in a cookie, or a SamlAnswer, which the browser sends in
    the URL of its next request.
    """
    return cipher.encrypt(state.model_dump_json())


def decrypt_attempt(cookie: str | None, cipher: Cipher, *, provider: str) -> SamlAttempt:
    """Decrypts the cookie that stores a SAML sign-in which this browser has begun, and returns the state of
    this sign-in.

    Raises BadRequest `saml_attempt_expired` if the cookie is missing or unreadable, if the sign-in has
    expired, or if it began with another provider than `provider`.
    """
    return _decrypt(SamlAttempt, cookie, cipher, provider=provider)


def decrypt_answer(value: str, cipher: Cipher, *, attempt: SamlAttempt) -> SamlAnswer:
    """Decrypts a verified response of the provider (see SamlAnswer). Returns the response. Raises BadRequest
    `saml_attempt_expired` if the response has expired or belongs to another sign-in than `attempt`.
    """
    answer = _decrypt(SamlAnswer, value, cipher, provider=attempt.provider)
    if answer.in_response_to != attempt.request_id:
        raise attempt_expired("saml")
    return answer


def _decrypt(kind: type[_State], value: str | None, cipher: Cipher, *, provider: str) -> _State:
    try:
        state = kind.model_validate_json(cipher.decrypt(value or ""))
    except (ConfigurationError, ValidationError):
        raise attempt_expired("saml") from None
    if state.provider != provider or state.expires_at < now():
        raise attempt_expired("saml")
    return state
