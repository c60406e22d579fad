"""Records which assertions and logout requests of SAML providers were already used, so that each is accepted
only once.
"""

import hashlib
from datetime import datetime

from sqlalchemy import DateTime, String, delete
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.saml.refusals import response_used


class UsedAssertion(Base):
    """A database row that records one SAML message as used, so that the message is not accepted again: an
    assertion with which a person has signed in, or a logout request that has signed a person out.
    """

    __tablename__ = "used_assertions"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    """The SHA-256 hash of the provider's entity id and the message's id, in hexadecimal."""

    valid_until: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)
    """The time after which the message is too old to be accepted. After this time, the row can be deleted."""


async def require_unused(session: AsyncSession, provider: SamlProvider, assertion_id: str) -> None:
    """Checks that no person has signed in with this SAML assertion (the provider's signed statement about a
    person) before. Raises Forbidden `saml_response_used` if a person has.
    """
    if await session.get(UsedAssertion, _key(provider, assertion_id)) is not None:
        raise response_used(provider.title)


async def use(
    session: AsyncSession, provider: SamlProvider, assertion_id: str, valid_until: datetime
) -> None:
    """Records that a SAML message of the provider was used, so that it cannot be used a second time. If two
    requests use one message at the same time, only one of them succeeds. Also deletes the records of expired
    messages.

    `assertion_id`: the id of the assertion (the signed statement of a sign-in). For a logout request: the
    word `logout` and the id of the request. `valid_until`: when the message expires. Raises Forbidden
    `saml_response_used` if the message was used before.
    """
    await session.execute(delete(UsedAssertion).where(UsedAssertion.valid_until < now()))
    try:
        async with session.begin_nested():
            session.add(UsedAssertion(key=_key(provider, assertion_id), valid_until=valid_until))
            await session.flush()
    except IntegrityError:
        raise response_used(provider.title) from None


def _key(provider: SamlProvider, assertion_id: str) -> str:
    return hashlib.sha256(f"{provider.entity_id}\n{assertion_id}".encode()).hexdigest()
