"""Routes for a user's signing of commits, and the route where git in sandboxes gets signatures."""

import hashlib

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from app_server.access.audit_trail import CurrentTrail, trail_of_sandbox
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.commit_signing import service
from app_server.commit_signing.models import CommitSigningKey
from app_server.commit_signing.signature import fingerprint
from app_server.core.database import ReadSession, ServerDatabase, Session, Timestamp
from app_server.core.encryption import ServerCipher
from app_server.core.errors import NotFound, PayloadTooLarge
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandboxes.auth import CurrentSandbox

router = APIRouter(prefix="/api/v1/settings/commit-signing", tags=["Settings"])
inner_router = APIRouter(prefix="/git/commit-signatures", tags=["Git proxy"])

MAX_PAYLOAD_BYTES = 1024 * 1024


class CommitSigning(BaseModel):
    """Whether commits of agents are signed, and with which key.

    public_key: the line to add to the account at the git host, as a signing key. Null before signing was
    first turned on. fingerprint: of the key, `SHA256:…`. created_at: when the key was made.
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


class SetCommitSigning(BaseModel):
    is_on: bool


@router.get("")
async def get_commit_signing(user: CurrentUser, session: ReadSession) -> CommitSigning:
    """Returns whether commits of the user's agents are signed, and the public key."""
    return CommitSigning.of(await session.get(CommitSigningKey, user.id))


@router.put("")
async def set_commit_signing(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetCommitSigning, cipher: ServerCipher
) -> CommitSigning:
    """Turns signing on or off. It holds for sandboxes from the next start of a conversation. The first time,
    a key is made. 409 `commit_identity_missing` without an e-mail address for commits.
    """
    key = await service.turn(session, cipher, user.id, is_on=body.is_on)
    shown = CommitSigning.of(key)
    target = (AuditTarget.SIGNING_KEY, shown.fingerprint or "none")
    trail.record(session, AuditAction.COMMIT_SIGNING_CHANGED, target, is_on=body.is_on)
    return shown


@router.post("/new-key")
async def replace_signing_key(
    user: CurrentUser, trail: CurrentTrail, session: Session, cipher: ServerCipher
) -> CommitSigning:
    """Replaces the key. Signatures of the old key stay valid at a host until the old key is deleted there.
    409 `commit_signing_off` if there is no key.
    """
    shown = CommitSigning.of(await service.replace_key(session, cipher, user.id))
    target = (AuditTarget.SIGNING_KEY, shown.fingerprint or "")
    trail.record(session, AuditAction.COMMIT_SIGNING_CHANGED, target, is_on=shown.is_on, has_new_key=True)
    return shown


@inner_router.post("", response_class=PlainTextResponse)
async def sign_commit(
    sandbox: CurrentSandbox, request: Request, database: ServerDatabase, cipher: ServerCipher
) -> PlainTextResponse:
    """Returns the signature of a commit or a tag: the body is the object as git wants it signed, the reply is
    an SSH signature. The private key stays here. Each signature is in the audit log.
    """
    if sandbox.status != SandboxStatus.RUNNING:
        raise NotFound("The sandbox does not run.", code="sandbox_not_found")
    payload = bytearray()
    async for piece in request.stream():
        payload += piece
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise PayloadTooLarge("The commit is too large to be signed.", code="commit_too_large")
    async with database.session() as session:
        signed = await service.sign(session, cipher, sandbox.user_id, sandbox.id, bytes(payload))
        trail = await trail_of_sandbox(session, sandbox.user_id, sandbox.id)
        digest = hashlib.sha256(payload).hexdigest()
        target = (AuditTarget.SIGNING_KEY, signed.fingerprint)
        trail.record(session, AuditAction.COMMIT_SIGNED, target, kind=signed.kind, sha256=digest)
    return PlainTextResponse(signed.text, headers={"Cache-Control": "no-store"})
