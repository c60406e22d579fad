"""Reads, deletes and updates rows of GitGrant. Such a row records that a user got the token for a git host by
a sign-in at this host. Also stores the jobs that revoke these tokens.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.jobs.queue import enqueue
from app_server.git.models import GitCredential, GitGrant, GitOAuthApp
from app_server.git.providers import GitProvider, provider_of

REVOCATION_KIND = "git_token_revocation"
_REVOKING = frozenset((GitProvider.GITHUB, GitProvider.GITLAB))
"""The kinds of git hosts that have an endpoint to revoke tokens."""


async def grants_of(session: AsyncSession, rows: Sequence[GitCredential]) -> Mapping[UUID, GitGrant]:
    """Returns the GitGrant rows of these credentials, by the id of the credential. A GitGrant row has the
    data of the sign-in that granted the token. A credential whose token the user has pasted has no such row.
    """
    ids = [row.id for row in rows]
    found = await session.scalars(select(GitGrant).where(GitGrant.credential_id.in_(ids)))
    return {grant.credential_id: grant for grant in found}


async def forget_grant(session: AsyncSession, row: GitCredential) -> None:
    """Deletes the record that the user got a token by a sign-in at the git host, and stores a background job
    that revokes the token there. Does nothing if the user has pasted the token. `row`: the stored token. Must
    be called before the token in `row` is changed, because the job revokes the token that is stored now.
    """
    grant = await session.get(GitGrant, row.id, with_for_update=True, populate_existing=True)
    if grant is None:
        return
    await session.refresh(row, ["token_encrypted"])
    await revoke_later(session, row, grant, row.token_encrypted)
    session.expunge(grant)
    await session.execute(delete(GitGrant).where(GitGrant.credential_id == row.id))


async def renew_authorities(session: AsyncSession, app: GitOAuthApp) -> None:
    """Copies the certificate authorities of an OAuth application (with which users sign in at a git host) to
    the tokens of all users who have signed in with this application.
    """
    granted = select(GitGrant.credential_id).where(GitGrant.app_id == app.id)
    statement = update(GitCredential).where(GitCredential.id.in_(granted))
    # The time of the last change tells of the token.
    values = {
        "certificate_authorities": app.certificate_authorities,
        "updated_at": GitCredential.updated_at,
    }
    await session.execute(statement.values(**values).execution_options(synchronize_session=False))


async def revoke_later(
    session: AsyncSession, row: GitCredential, grant: GitGrant, token_encrypted: str
) -> None:
    """Stores a background job that revokes a token at its git host. Stores no job if the host cannot revoke
    tokens, or if the OAuth application of the sign-in was removed.

    `row`: the stored credential of the user for the git host. `grant`: the record of the sign-in that granted
    the token. `token_encrypted`: the token to revoke, encrypted.
    """
    if grant.app_id is None or provider_of(row.origin, row.provider)[0] not in _REVOKING:
        return
    payload = {
        "user_id": row.user_id.hex,
        "app_id": grant.app_id.hex,
        "token_encrypted": token_encrypted,
        "is_installation": grant.installation_id is not None,
    }
    await enqueue(session, REVOCATION_KIND, payload)
