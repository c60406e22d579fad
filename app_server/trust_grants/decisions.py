"""Records in the audit log what a user allows a repository to run or refuses to run."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Offer
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget


def record_decisions(
    session: AsyncSession, trail: AuditTrail, repository: str, offers: Sequence[Offer], *, is_allowed: bool
) -> None:
    """Adds one audit entry for each offer. repository: the key under which the decision is stored."""
    for offer in offers:
        trail.record(
            session,
            AuditAction.TRUST_GRANTED,
            (AuditTarget.TRUST_GRANT, repository),
            outcome=AuditOutcome.SUCCESS if is_allowed else AuditOutcome.REFUSED,
            kind=offer.kind,
            name=offer.name,
            path=offer.path,
            hash=offer.hash,
        )
