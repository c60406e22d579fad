"""HTTP routes that show and set whether commits of the user's agents are signed, and with which key."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.commit_signing import service
from app_server.commit_signing.models import CommitSigningKey
from app_server.commit_signing.signature import fingerprint
from app_server.conversations.repositories.git_settings import renew_git_settings
from app_server.core.background import ServerBackground
from app_server.core.database import ReadSession, ServerDatabase, Session, Timestamp
from app_server.core.encryption import ServerCipher
from app_server.http.strict_body import StrictBody

router = APIRouter(prefix="/api/v1/settings/commit-signing", tags=["Settings"])


class CommitSigning(BaseModel):
    """The reply that says whether commits of the user's agents are signed, and with which key.

    public_key: the text that the user adds as a signing key to the user's account at a git host; null if
    signing was never turned on. fingerprint: the fingerprint of the key, `SHA256:…`. created_at: when the key
    was created.
    """

    is_on: bool
    public_key: str | None = None
    fingerprint: str | None = None
    created_at: Timestamp | None = None

    @classmethod
    def of(cls, key: CommitSigningKey | None) -> "CommitSigning":
        if key is None:
            return cls(is_on=False)
        return cls(
            is_on=key.is_on,
            public_key=key.public_key,
            fingerprint=fingerprint(key.public_key),
            created_at=key.created_at,
        )


class SetCommitSigning(StrictBody):
    is_on: bool


@router.get("")
async def get_commit_signing(user: CurrentUser, session: ReadSession) -> CommitSigning:
    """Returns whether commits of the user's agents are signed, and the public key."""
    return CommitSigning.of(await session.get(CommitSigningKey, user.id))


@router.put("")
async def set_commit_signing(
    user: CurrentUser,
    trail: CurrentTrail,
    body: SetCommitSigning,
    database: ServerDatabase,
    cipher: ServerCipher,
    background: ServerBackground,
    request: Request,
) -> CommitSigning:
    """Turns the signing of commits on or off, also in sandboxes that are running. Creates a key when signing
    is turned on for the first time. Returns the new state and the public key. 409 `commit_identity_missing`
    if the user has set no e-mail address for commits.
    """
    async with database.session() as session:
        key = await service.turn(session, cipher, user.id, is_on=body.is_on)
        shown = CommitSigning.of(key)
        target = (AuditTarget.SIGNING_KEY, shown.fingerprint or "none")
        trail.record(session, AuditAction.COMMIT_SIGNING_CHANGED, target, is_on=body.is_on)
    renewal = renew_git_settings(database, cipher, request.state.sandboxes, user.id)
    background.start(renewal, name="settings of git in sandboxes")
    return shown


@router.post("/new-key")
async def replace_signing_key(
    user: CurrentUser, trail: CurrentTrail, session: Session, cipher: ServerCipher
) -> CommitSigning:
    """Replaces the user's signing key by a new key, and returns the new public key. The user must add the new
    key to the account at the git host.

    Commits that were signed with the old key stay verified at a git host until the user deletes the old key
    there. 409 `commit_signing_off` if the user has no signing key, because signing was never turned on.
    """
    shown = CommitSigning.of(await service.replace_key(session, cipher, user.id))
    target = (AuditTarget.SIGNING_KEY, shown.fingerprint or "")
    trail.record(session, AuditAction.COMMIT_SIGNING_CHANGED, target, is_on=shown.is_on, has_new_key=True)
    return shown
