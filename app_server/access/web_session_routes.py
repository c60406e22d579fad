"""Routes for the signed-in browsers of the current user."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from app_server.access import web_sessions
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.principal import Principal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Id, ReadSession, Session, Timestamp

router = APIRouter(prefix="/api/v1/web-sessions", tags=["Users"])


class WebSessionInfo(BaseModel):
    """A signed-in browser.

    `user_agent`, `address`: those the browser had when it signed in. `last_used_at`: accurate to one hour.
    `expires_at`: when the session ends if it is not used before. `is_current`: whether this request came from
    this browser.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    user_agent: str | None
    address: str | None
    created_at: Timestamp
    last_used_at: Timestamp | None
    expires_at: Timestamp
    is_current: bool = False


@router.get("")
async def list_web_sessions(principal: CurrentPrincipal, session: ReadSession) -> list[WebSessionInfo]:
    rows = await web_sessions.list_sessions(session, principal.user.id)
    current = _current(principal)
    return [
        WebSessionInfo.model_validate(row).model_copy(update={"is_current": row.id == current})
        for row in rows
    ]


@router.delete("/{session_id}", status_code=204)
async def end_web_session(user: CurrentUser, trail: CurrentTrail, session: Session, session_id: UUID) -> None:
    """Signs out this browser. Its open streams end within two seconds. 404 `web_session_not_found`."""
    await web_sessions.end_session(session, user.id, session_id)
    trail.record(session, AuditAction.SESSION_REVOKED, (AuditTarget.SESSION, session_id))


@router.delete("", status_code=204)
async def end_other_web_sessions(principal: CurrentPrincipal, trail: CurrentTrail, session: Session) -> None:
    """Signs out all browsers of the user except the one that sends this request."""
    for ended in await web_sessions.end_other_sessions(session, principal.user.id, _current(principal)):
        trail.record(session, AuditAction.SESSION_REVOKED, (AuditTarget.SESSION, ended))


def _current(principal: Principal) -> UUID | None:
    return principal.credential.id if principal.credential.kind == "session" else None
