"""Routes that list, name and sign out the browsers in which the current user is signed in."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StringConstraints

from app_server.access import web_sessions
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.principal import Principal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Id, ReadSession, Session, Timestamp
from app_server.users.models import WebSession

router = APIRouter(prefix="/api/v1/web-sessions", tags=["Users"])


class WebSessionInfo(BaseModel):
    """A browser in which the user is signed in.

    `name`: the name that the user has given to the browser; null if it has none. `user_agent`, `address`: the
    browser's User-Agent header and IP address at the sign-in. `last_used_at`: the time of the last request;
    it may be up to one hour too early. `expires_at`: when the browser is signed out if it sends no more
    requests. `is_current`: whether this browser has sent the request.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str | None
    user_agent: str | None
    address: str | None
    created_at: Timestamp
    last_used_at: Timestamp | None
    expires_at: Timestamp
    is_current: bool = False


class NameWebSession(BaseModel):
    """The request body that gives a signed-in browser a name. `name`: null removes the name."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)] | None


@router.get("")
async def list_web_sessions(principal: CurrentPrincipal, session: ReadSession) -> list[WebSessionInfo]:
    rows = await web_sessions.list_sessions(session, principal.user.id)
    return [_info(row, principal) for row in rows]


@router.patch("/{session_id}")
async def name_web_session(
    principal: CurrentPrincipal, session: Session, session_id: UUID, body: NameWebSession
) -> WebSessionInfo:
    """Gives a browser a name, so that the user recognises the browser in the list of signed-in browsers.
    `session_id`: the id of the browser in this list. Returns the description of the browser. 404
    `web_session_not_found` if no signed-in browser of the user has this id.
    """
    named = await web_sessions.name_session(session, principal.user.id, session_id, body.name)
    return _info(named, principal)


@router.delete("/{session_id}", status_code=204)
async def end_web_session(user: CurrentUser, trail: CurrentTrail, session: Session, session_id: UUID) -> None:
    """Ends the user's browser session `session_id`, so the browser is signed out. Streams that this browser
    has open are closed within two seconds. 404 `web_session_not_found` if the user has no such session.
    """
    await web_sessions.end_session(session, user.id, session_id)
    trail.record(session, AuditAction.SESSION_REVOKED, (AuditTarget.SESSION, session_id))


@router.delete("", status_code=204)
async def end_other_web_sessions(principal: CurrentPrincipal, trail: CurrentTrail, session: Session) -> None:
    """Signs out all browsers of the user except the one that sends this request."""
    for ended in await web_sessions.end_other_sessions(session, principal.user.id, _current(principal)):
        trail.record(session, AuditAction.SESSION_REVOKED, (AuditTarget.SESSION, ended))


def _info(row: WebSession, principal: Principal) -> WebSessionInfo:
    is_current = row.id == _current(principal)
    return WebSessionInfo.model_validate(row).model_copy(update={"is_current": is_current})


def _current(principal: Principal) -> UUID | None:
    return principal.credential.id if principal.credential.kind == "session" else None
