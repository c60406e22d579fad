"""Lists, names and ends the browser sessions of a user, and computes when a session expires."""

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
    """Returns the time at which a browser session expires if it is used now and is not used again. This is
    `session_days` from now, but at most `session_max_days` after the sign-in; both are settings in `config`.
    `began_at`: the time of the sign-in.
    """
    unused = now() + timedelta(days=config.session_days)
    return min(unused, began_at + timedelta(days=config.session_max_days))


async def list_sessions(session: AsyncSession, user_id: UUID) -> Sequence[WebSession]:
    """Returns the user's browser sessions that have not expired, newest first."""
    query = select(WebSession).where(WebSession.user_id == user_id, WebSession.expires_at > now())
    return (await session.scalars(query.order_by(WebSession.created_at.desc(), WebSession.id))).all()


async def name_session(
    session: AsyncSession, user_id: UUID, session_id: UUID, name: str | None
) -> WebSession:
    """Gives this browser session of the user a name. Returns the session. `name`: None removes the name.
    Raises NotFound `web_session_not_found` if the user has no such session.
    """
    query = select(WebSession).where(
        WebSession.user_id == user_id, WebSession.id == session_id, WebSession.expires_at > now()
    )
    found = await session.scalar(query)
    if found is None:
        raise _not_found()
    found.name = name
    return found


async def end_session(session: AsyncSession, user_id: UUID, session_id: UUID) -> None:
    """Deletes this browser session of the user, and so signs the browser out. Raises NotFound
    `web_session_not_found` if the user has no such session.
    """
    statement = delete(WebSession).where(WebSession.user_id == user_id, WebSession.id == session_id)
    if await session.scalar(statement.returning(WebSession.id)) is None:
        raise _not_found()


async def end_other_sessions(
    session: AsyncSession, user_id: UUID, retained_id: UUID | None
) -> Sequence[UUID]:
    """Deletes the user's browser sessions except the session `retained_id`, and returns the ids of the
    deleted sessions.

    retained_id: the id of the session that stays; None means that all are deleted.
    """
    statement = delete(WebSession).where(WebSession.user_id == user_id)
    if retained_id is not None:
        statement = statement.where(WebSession.id != retained_id)
    return (await session.scalars(statement.returning(WebSession.id))).all()


def _not_found() -> NotFound:
    return NotFound("There is no such signed-in browser.", code="web_session_not_found")
