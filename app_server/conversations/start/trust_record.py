"""Tells the audit log what a user lets a repository run, or refuses."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Offer
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget


def record_decisions(
    session: AsyncSession, trail: AuditTrail, repository: str, offers: Sequence[Offer], *, is_allowed: bool
) -> None:
    """One entry for each offer. repository: what the decision is remembered for."""
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
