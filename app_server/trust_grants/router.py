"""Routes with which users see and revoke their decisions about project executables. A project executable is a
part of a repository that runs programs if the user allows it, such as a hook.
"""

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.trust_grants import service
from app_server.trust_grants.models import TrustGrant
from app_server.trust_grants.schemas import ConsentInfo

router = APIRouter(prefix="/api/v1/consents", tags=["Consents"])


@router.get("", response_model=list[ConsentInfo])
async def list_consents(user: CurrentUser, session: ReadSession) -> Sequence[TrustGrant]:
    """Returns the user's decisions about which programs from repositories (hooks, setup scripts, MCP servers
    …) may run. The decisions are sorted by repository. The decisions about one repository are sorted by time,
    newest first.
    """
    return await service.list_grants(session, user.id)


@router.delete("/{consent_id}", status_code=204)
async def revoke_consent(user: CurrentUser, trail: CurrentTrail, session: Session, consent_id: UUID) -> None:
    """Deletes one decision of the user whether a program from a repository (a hook, a setup script, an MCP
    server …) may run. The next conversation about this repository asks the user again.

    Conversations that have already used the decision do not ask again. Replies 404 if the user has no such
    decision.
    """
    consent = await service.revoke(session, user.id, consent_id)
    trail.record(
        session,
        AuditAction.TRUST_REVOKED,
        (AuditTarget.TRUST_GRANT, consent.repository),
        kind=consent.kind,
        name=consent.name,
        hash=consent.hash,
    )
