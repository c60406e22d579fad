"""Stores and lists users' decisions about project executables. A project executable is a part of a repository
that runs programs if the user allows it, such as a hook.

There is one decision for each user, repository and version of a project executable. A version is identified
by its hash. A new decision of the user about the same version replaces the previous decision.
"""

from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import ProjectExecutable
from app_server.core.database import now
from app_server.core.errors import NotFound
from app_server.trust_grants.models import MAX_REPOSITORY_CHARACTERS, Decision, TrustGrant


async def list_grants(session: AsyncSession, user_id: UUID) -> Sequence[TrustGrant]:
    """Returns all decisions of the user about which programs from repositories (such as hooks) may run,
    sorted by repository. The decisions about one repository are sorted by time, newest first.
    """
    query = select(TrustGrant).where(TrustGrant.user_id == user_id)
    return (await session.scalars(query.order_by(TrustGrant.repository, TrustGrant.created_at.desc()))).all()


async def of_repository(session: AsyncSession, user_id: UUID, repository: str) -> Sequence[TrustGrant]:
    """Returns the user's decisions about which programs from one repository (such as hooks) may run, newest
    first. repository: the identity of the repository (see Address.identity), such as `github.com/owner/name`.
    """
    query = select(TrustGrant).where(TrustGrant.user_id == user_id, TrustGrant.repository == repository)
    return (await session.scalars(query.order_by(TrustGrant.created_at.desc()))).all()


async def decide(
    session: AsyncSession,
    user_id: UUID,
    repository: str,
    executables: Sequence[ProjectExecutable],
    decision: Decision,
) -> None:
    """Stores a user's decision about several project executables of a repository: one row for each of them. A
    project executable is a part of a repository that runs programs if the user allows it, such as a hook. A
    new decision replaces an earlier decision about the same version of a project executable.

    repository: the identity of the repository (see Address.identity), such as `github.com/owner/name`. If
    this identity is longer than 500 characters, stores nothing, because the database column is too short for
    it. executables: the project executables; if the list is empty, stores nothing. decision: whether the user
    has allowed or refused to run all of them.
    """
    if not executables or len(repository) > MAX_REPOSITORY_CHARACTERS:
        return
    # Two browser windows may answer the same question at the same moment.
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    moment = now()
    rows = [
        {
            "id": uuid4(),
            "user_id": user_id,
            "repository": repository,
            **executable.model_dump(include={"kind", "path", "name", "hash"}),
            "decision": decision,
            "offer": executable.model_dump(mode="json"),
            "created_at": moment,
        }
        for executable in executables
    ]
    row = insert(TrustGrant).values(rows)
    changed = {name: row.excluded[name] for name in ("decision", "created_at")}
    await session.execute(
        row.on_conflict_do_update(index_elements=["user_id", "repository", "hash"], set_=changed)
    )


async def revoke(session: AsyncSession, user_id: UUID, consent_id: UUID) -> TrustGrant:
    """Deletes a user's decision about whether a program from a repository (such as a hook) may run. Returns
    the deleted decision. The next conversation about the repository asks the user again.

    Raises NotFound if the decision does not exist or belongs to another user.
    """
    query = select(TrustGrant).where(TrustGrant.user_id == user_id, TrustGrant.id == consent_id)
    consent = await session.scalar(query)
    if consent is None:
        raise NotFound("No such consent.")
    await session.delete(consent)
    return consent
