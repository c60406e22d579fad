"""The route with which git in a sandbox requests signatures for commits and tags."""

import hashlib

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from app_server.access.audit_trail import trail_of_sandbox
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.commit_signing import service
from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import NotFound, PayloadTooLarge
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandboxes.auth import CurrentSandbox

inner_router = APIRouter(prefix="/git/commit-signatures", tags=["Git proxy"])

MAX_PAYLOAD_BYTES = 1024 * 1024


@inner_router.post("", response_class=PlainTextResponse)
async def sign_commit(
    sandbox: CurrentSandbox, request: Request, database: ServerDatabase, cipher: ServerCipher
) -> PlainTextResponse:
    """Signs a commit or a tag for git in a sandbox. The body of the request is the commit or tag object
    without a signature. The reply is the SSH signature as text. The private key never leaves the app server.
    Each signature is recorded in the audit log.

    404 `sandbox_not_found` if the sandbox is not running. 413 `commit_too_large` if the body is larger than 1
    MiB.
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
