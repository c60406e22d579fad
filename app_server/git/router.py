"""Routes with which users list, save and delete their tokens for git hosts. No route returns a token."""

from uuid import UUID

from fastapi import APIRouter

from app_server.access.audit_trail import AuditTrail, CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import ServerCipher
from app_server.git import credentials
from app_server.git.grants import grants_of
from app_server.git.models import GitCredential
from app_server.git.schemas import ChangeGitCredential, GitCredentialInfo, SaveGitCredential

router = APIRouter(prefix="/api/v1/settings/git-credentials", tags=["Settings"])


@router.get("")
async def list_git_credentials(user: CurrentUser, session: ReadSession) -> list[GitCredentialInfo]:
    """Returns all tokens of the user for git hosts, sorted by host. The tokens' values are not included."""
    rows = await credentials.list_credentials(session, user.id)
    grants = await grants_of(session, rows)
    return [GitCredentialInfo.of(row, grants.get(row.id)) for row in rows]


@router.post("", status_code=201)
async def save_git_credential(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SaveGitCredential, cipher: ServerCipher
) -> GitCredentialInfo:
    """Stores a token for a git host. If the user already has a token for this host, replaces it. Agents use
    the new token from the next clone, fetch or push on. Returns the stored row without the token.
    """
    saved = await credentials.save_credential(session, cipher, user.id, body)
    _record_change(trail, session, saved, has_new_token=True)
    return GitCredentialInfo.of(saved)


@router.patch("/{credential_id}")
async def change_git_credential(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    credential_id: UUID,
    body: ChangeGitCredential,
    cipher: ServerCipher,
) -> GitCredentialInfo:
    changed = await credentials.change_credential(session, cipher, user.id, credential_id, body)
    _record_change(trail, session, changed, has_new_token=body.token is not None)
    grants = await grants_of(session, [changed])
    return GitCredentialInfo.of(changed, grants.get(changed.id))


@router.delete("/{credential_id}", status_code=204)
async def delete_git_credential(
    user: CurrentUser, trail: CurrentTrail, session: Session, credential_id: UUID
) -> None:
    """Deletes the user's token for a git host. From then on, the user's agents can reach only public
    repositories at this host. If the token comes from a sign-in and the host can revoke tokens, the token is
    also revoked at the host.
    """
    host = await credentials.delete_credential(session, user.id, credential_id)
    trail.record(session, AuditAction.GIT_CREDENTIAL_DELETED, (AuditTarget.GIT_HOST, host))


def _record_change(trail: AuditTrail, session: Session, row: GitCredential, *, has_new_token: bool) -> None:
    trail.record(
        session,
        AuditAction.GIT_CREDENTIAL_CHANGED,
        (AuditTarget.GIT_HOST, row.origin),
        push_scope=row.push_scope,
        has_new_token=has_new_token,
    )
