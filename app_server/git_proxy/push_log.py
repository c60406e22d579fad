"""Stores and reads the rows of GitPush: the git pushes of sandboxes. The rows show which branches a
conversation has created.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import trail_of_sandbox
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget
from app_server.git_proxy.commands import Command
from app_server.git_proxy.models import GitPush, PushOutcome
from app_server.sandbox_records.models import Sandbox

logger = logging.getLogger(__name__)

MAX_LISTED = 200


async def own_refs(
    session: AsyncSession, sandbox_id: UUID, repository: str, refs: Iterable[str]
) -> frozenset[str]:
    """Returns those of the given `refs` (branches and tags) that this sandbox has created in the repository
    by a push. Leaves out refs that the sandbox has deleted since then. `repository`: `host/owner/name`.
    """
    query = select(GitPush).where(
        GitPush.sandbox_id == sandbox_id,
        GitPush.repository == repository,
        GitPush.ref.in_(list(refs)),
        GitPush.outcome == PushOutcome.ACCEPTED,
    )
    own: set[str] = set()
    for push in await session.scalars(query.order_by(GitPush.created_at)):
        command = Command(push.ref, push.old_commit, push.new_commit)
        if command.is_deletion:
            own.discard(push.ref)
        elif command.is_creation:
            own.add(push.ref)
    return frozenset(own)


async def record(
    session: AsyncSession,
    sandbox: Sandbox,
    repository: str,
    commands: Iterable[Command],
    reasons: Mapping[str, str] | None = None,
) -> list[UUID]:
    """Adds one row of GitPush for each ref (branch or tag) of a push and returns the ids of the rows.
    `commands`: the refs that the push changes, with their old and new commits.

    `reasons`: if Slipway refuses the push, the reasons for this, by ref. None means that Slipway does not
    refuse the push but passes it on to the git host.
    """
    rows = [
        GitPush(
            user_id=sandbox.user_id,
            sandbox_id=sandbox.id,
            repository=repository,
            ref=command.ref,
            old_commit=command.old,
            new_commit=command.new,
            outcome=PushOutcome.UNKNOWN if reasons is None else PushOutcome.REFUSED,
            reason=(reasons or {}).get(command.ref),
        )
        for command in commands
    ]
    session.add_all(rows)
    await session.flush()
    _log(rows)
    if reasons is not None:
        await _audit(session, rows)
    return [row.id for row in rows]


async def settle(session: AsyncSession, ids: Sequence[UUID], outcomes: Mapping[str, str | None]) -> None:
    """Stores the outcome of an agent's `git push` in the database rows of the push and in the audit log. Each
    row belongs to one changed ref (branch or tag).

    `ids`: the ids of the rows. `outcomes`: maps each ref to None if the git host has accepted the change, or
    to the host's reason if it has refused the change. A ref that is not in `outcomes` keeps the outcome
    `unknown`.
    """
    rows = list(await session.scalars(select(GitPush).where(GitPush.id.in_(ids))))
    for row in rows:
        if row.ref in outcomes:
            row.reason = outcomes[row.ref]
            row.outcome = PushOutcome.ACCEPTED if row.reason is None else PushOutcome.REJECTED
    _log(rows)
    await _audit(session, rows)


async def list_pushes(session: AsyncSession, sandbox_id: UUID) -> Sequence[GitPush]:
    """Returns the latest git pushes of a sandbox, the newest first, at most MAX_LISTED."""
    query = select(GitPush).where(GitPush.sandbox_id == sandbox_id)
    return (await session.scalars(query.order_by(GitPush.created_at.desc()).limit(MAX_LISTED))).all()


async def _audit(session: AsyncSession, rows: Sequence[GitPush]) -> None:
    """Adds one entry to the audit log for each of these rows. Each row states a branch or tag that a push
    changes.
    """
    for row in rows:
        trail = await trail_of_sandbox(session, row.user_id, row.sandbox_id)
        is_refused = row.outcome in {PushOutcome.REFUSED, PushOutcome.REJECTED}
        trail.record(
            session,
            AuditAction.GIT_PUSHED,
            (AuditTarget.REPOSITORY, row.repository),
            outcome=AuditOutcome.REFUSED if is_refused else AuditOutcome.SUCCESS,
            ref=row.ref,
            old_commit=row.old_commit,
            new_commit=row.new_commit,
            result=row.outcome,
            reason=row.reason,
        )


def _log(rows: Iterable[GitPush]) -> None:
    for row in rows:
        logger.info(
            "a push of an agent",
            extra={
                "sandbox_id": row.sandbox_id.hex,
                "repository": row.repository,
                "ref": row.ref,
                "old_commit": row.old_commit,
                "new_commit": row.new_commit,
                "outcome": row.outcome.value,
                "reason": row.reason,
            },
        )
