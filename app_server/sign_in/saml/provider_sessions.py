"""Encrypts and reads a cookie that contains the session at a SAML provider by which a browser has signed in.

A sign-out at Slipway reads this cookie, so that it can also end the session at the provider. If the session
ends at the provider first, the provider sends a logout request that names this session, and this module signs
the browser out.
"""

import hashlib
from datetime import timedelta
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ValidationError
from sqlalchemy import delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.http.encrypted_cookie import EncryptedCookie
from app_server.sign_in.identities.models import ExternalIdentity
from app_server.sign_in.saml.logout_messages import LogoutMessage
from app_server.sign_in.saml.statements import SubjectAtProvider
from app_server.users.models import WebSession

COOKIE: Final = EncryptedCookie("slipway_saml_session", timedelta(days=400))


class SessionAtProvider(BaseModel):
    """A person's session at a SAML provider, by which a browser has signed in. `provider`: the provider's
    name. `subject`: the provider's identifiers of the person and of the session.
    """

    provider: str
    subject: SubjectAtProvider


def key_of(subject: SubjectAtProvider) -> str:
    """Returns a text that identifies the person's session at the provider. The text consists of a hash of the
    NameID (the person) and a hash of the SessionIndex (the session). The second hash alone is not enough,
    because different people may have the same SessionIndex.

    The text is stored with the browser session (WebSession), so that `end_sessions` can find the browser
    sessions that a logout request of the provider names.
    """
    return f"{_prefix(subject.name_id)}{_hash(subject.session_index or '')}"


def encrypt(provider: SamlProvider, subject: SubjectAtProvider, cipher: Cipher) -> str:
    """Returns the encrypted value of the cookie that stores the user's session at the SAML provider. With
    this cookie, a sign-out at Slipway can also end the session at the provider. `subject`: the provider's
    identifiers of the person and of the session.
    """
    return cipher.encrypt(SessionAtProvider(provider=provider.name, subject=subject).model_dump_json())


def decrypt(cookie: str | None, cipher: Cipher) -> SessionAtProvider | None:
    """Decrypts the cookie that stores the session at a SAML provider by which a browser has signed in.
    Returns this session. Returns None if the cookie is missing or unreadable.
    """
    try:
        return SessionAtProvider.model_validate_json(cipher.decrypt(cookie or ""))
    except (ConfigurationError, ValidationError):
        return None


async def end_sessions(
    session: AsyncSession, provider: SamlProvider, request: LogoutMessage
) -> list[tuple[UUID, UUID]]:
    """Ends browser sessions at Slipway, because a SAML provider has sent a logout request for a person. If
    the request names sessions at the provider, only the browser sessions that began with these sessions end.
    Otherwise, all browser sessions of the person that began at this provider end.

    `request`: the provider's verified logout request. Returns a pair for each ended browser session: its id
    and the id of its user.
    """
    identities = select(ExternalIdentity.id).where(ExternalIdentity.issuer == provider.issuer)
    prefix = _prefix(request.name_id or "")
    named = [WebSession.provider_session == f"{prefix}{_hash(index)}" for index in request.session_indexes]
    is_meant = or_(*named) if named else WebSession.provider_session.startswith(prefix, autoescape=True)
    ended = delete(WebSession).where(WebSession.identity_id.in_(identities), is_meant)
    found = await session.execute(ended.returning(WebSession.id, WebSession.user_id))
    return [(row.id, row.user_id) for row in found]


def _prefix(name_id: str) -> str:
    return f"{_hash(name_id)}:"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
