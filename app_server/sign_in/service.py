"""Signing in: a one-time link is traded for a browser session."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.database import now
from app_server.errors import BadRequest, Gone
from app_server.users.models import SignInLink, User, WebSession
from app_server.users.tokens import new_token, token_hash

LINK_LIFETIME = timedelta(hours=24)

_KEPT_FOR_EXPLANATION = timedelta(days=7)
_FIX = "Run `slipway sign-in-link` on the server and open the link it prints."


async def create_link(session: AsyncSession, user_id: UUID) -> str:
    """A new one-time token, valid for 24 hours. Only its hash is kept."""
    await session.execute(delete(SignInLink).where(SignInLink.expires_at < now() - _KEPT_FOR_EXPLANATION))
    token = new_token()
    session.add(SignInLink(token_hash=token_hash(token), user_id=user_id, expires_at=now() + LINK_LIFETIME))
    await session.flush()
    return token


@dataclass(frozen=True)
class SignedIn:
    """A new browser session: its cookie, and the proof for its pages."""

    user: User
    cookie: str
    page_proof: str


async def sign_in_with_link(session: AsyncSession, token: str, *, lifetime: timedelta) -> SignedIn:
    """A new browser session. Of two at once, one wins.

    Raises BadRequest `sign_in_link_invalid`, Gone `sign_in_link_expired`, Gone `sign_in_link_used`.
    """
    unused = update(SignInLink).where(
        SignInLink.token_hash == token_hash(token),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > now(),
    )
    user_id = await session.scalar(unused.values(used_at=now()).returning(SignInLink.user_id))
    if user_id is None:
        raise await _why_not(session, token)
    user = await session.get_one(User, user_id)
    user.signed_in_at = now()
    await session.execute(delete(WebSession).where(WebSession.expires_at < now()))
    signed_in = SignedIn(user, cookie=new_token(), page_proof=new_token())
    session.add(
        WebSession(
            token_hash=token_hash(signed_in.cookie),
            proof_hash=token_hash(signed_in.page_proof),
            user_id=user_id,
            expires_at=now() + lifetime,
        )
    )
    await session.flush()
    return signed_in


async def sign_out(session: AsyncSession, cookie: str, page_proof: str) -> None:
    """Does nothing with a wrong proof: the cookie alone ends no session either."""
    await session.execute(
        delete(WebSession).where(
            WebSession.token_hash == token_hash(cookie), WebSession.proof_hash == token_hash(page_proof)
        )
    )


async def _why_not(session: AsyncSession, token: str) -> BadRequest | Gone:
    link = await session.scalar(select(SignInLink).where(SignInLink.token_hash == token_hash(token)))
    if link is None:
        return BadRequest("This sign-in link is invalid.", code="sign_in_link_invalid", fix=_FIX)
    if link.used_at is not None:
        return Gone("This sign-in link has been used already.", code="sign_in_link_used", fix=_FIX)
    return Gone("This sign-in link has expired.", code="sign_in_link_expired", fix=_FIX)
