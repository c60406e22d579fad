"""The browsers that a user has signed in: how long, and ending them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import NotFound
from app_server.users.models import WebSession


def end_of_session(config: Config, began_at: datetime) -> datetime:
    """When a session that began then and is used now ends, unless it is used again."""
    unused = now() + timedelta(days=config.session_days)
    return min(unused, began_at + timedelta(days=config.session_max_days))


async def list_sessions(session: AsyncSession, user_id: UUID) -> Sequence[WebSession]:
    """Those that still count, the newest first."""
    query = select(WebSession).where(WebSession.user_id == user_id, WebSession.expires_at > now())
    return (await session.scalars(query.order_by(WebSession.created_at.desc(), WebSession.id))).all()


async def end_session(session: AsyncSession, user_id: UUID, session_id: UUID) -> None:
    """Raises NotFound `web_session_not_found`."""
    statement = delete(WebSession).where(WebSession.user_id == user_id, WebSession.id == session_id)
    if await session.scalar(statement.returning(WebSession.id)) is None:
        raise NotFound("There is no such signed-in browser.", code="web_session_not_found")


async def end_other_sessions(session: AsyncSession, user_id: UUID, kept: UUID | None) -> Sequence[UUID]:
    """Those that ended. kept: the one that stays; None: none."""
    statement = delete(WebSession).where(WebSession.user_id == user_id)
    if kept is not None:
        statement = statement.where(WebSession.id != kept)
    return (await session.scalars(statement.returning(WebSession.id))).all()
