"""Records users' decisions about project executables in the audit log. A project executable is a part of a
repository that runs programs if the user allows it, such as a hook or an MCP server.
"""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import ProjectExecutable
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget


def record_decisions(
    session: AsyncSession,
    trail: AuditTrail,
    repository: str,
    executables: Sequence[ProjectExecutable],
    *,
    is_allowed: bool,
) -> None:
    """Adds one entry to the audit log for each project executable that the user has allowed or refused.

    executables: the project executables of the repository, such as hooks. is_allowed: True if the user has
    allowed all of them, False if the user has refused all of them. repository: the identity of the
    repository (see Address.identity), such as `github.com/owner/name`.
    """
    for executable in executables:
        trail.record(
            session,
            AuditAction.TRUST_GRANTED,
            (AuditTarget.TRUST_GRANT, repository),
            outcome=AuditOutcome.SUCCESS if is_allowed else AuditOutcome.REFUSED,
            kind=executable.kind,
            name=executable.name,
            path=executable.path,
            hash=executable.hash,
        )
