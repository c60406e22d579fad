"""Records in the audit log what a user has allowed a repository to run, or has refused."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Offer
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget


def record_decisions(
    session: AsyncSession, trail: AuditTrail, repository: str, offers: Sequence[Offer], *, is_allowed: bool
) -> None:
    """Adds one audit entry for each of `offers`, which are things that the repository would run, such as
    hooks. repository: the Address.identity under which the decision is stored.
    """
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
