"""Remembers in the browser by which session at a SAML provider it is signed in.

A sign-out here can then end that session, too. The provider names the same session when it ends it.
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
from app_server.http.sealed_cookie import SealedCookie
from app_server.sign_in.identities.models import ExternalIdentity
from app_server.sign_in.saml.logout_messages import LogoutMessage
from app_server.sign_in.saml.statements import SubjectAtProvider
from app_server.users.models import WebSession

COOKIE: Final = SealedCookie("slipway_saml_session", timedelta(days=400))


class SessionAtProvider(BaseModel):
    """The session at the provider with this name by which a browser has signed in."""

    provider: str
    subject: SubjectAtProvider


def key_of(subject: SubjectAtProvider) -> str:
    """Returns the session's key, as `WebSession.provider_session` has it: a hash of the NameID, and one of
    the SessionIndex. Different people may have the same SessionIndex.
    """
    return f"{_prefix(subject.name_id)}{_hash(subject.session_index or '')}"


def seal(provider: SamlProvider, subject: SubjectAtProvider, cipher: Cipher) -> str:
    """Returns the value of the cookie."""
    return cipher.encrypt(SessionAtProvider(provider=provider.name, subject=subject).model_dump_json())


def opened(cookie: str | None, cipher: Cipher) -> SessionAtProvider | None:
    """Returns what the cookie says. Returns None if it is missing or unreadable."""
    try:
        return SessionAtProvider.model_validate_json(cipher.decrypt(cookie or ""))
    except (ConfigurationError, ValidationError):
        return None


async def end_sessions(
    session: AsyncSession, provider: SamlProvider, request: LogoutMessage
) -> list[tuple[UUID, UUID]]:
    """Signs out the browsers of the person that a request of the provider names: those of the named sessions,
    or all that signed in by this provider. Returns the ended sessions as pairs: the session's id and its
    user's id.
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
