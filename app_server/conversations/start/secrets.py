"""Stores the secrets that a start request contains for its conversation, and sends a secret when the sandbox
requests it. The secrets are stored encrypted. Only this conversation can use them.
"""

from collections.abc import Mapping
from uuid import UUID

import orjson
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import record_first_use
from app_server.conversations.models import Conversation, StartTask
from app_server.core.database import ServerDatabase
from app_server.core.encryption import Cipher, ServerCipher
from app_server.core.errors import NotFound
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.auth import CurrentSandbox
from app_server.secrets.schemas import SecretNameInPath

inner_router = APIRouter(prefix="/api/v1/sandboxes", tags=["Secrets"])


def encrypt_secrets(cipher: Cipher, secrets: Mapping[str, SecretStr] | None) -> str | None:
    """Encrypts the secrets of a start request, so that they can be stored in the start task, the row that
    describes the conversation's start. Returns the encrypted text, or None if there are no secrets.
    """
    if not secrets:
        return None
    values = {name: value.get_secret_value() for name, value in secrets.items()}
    return cipher.encrypt(orjson.dumps(values).decode())


def decrypt_secrets(cipher: Cipher, encrypted: str | None) -> dict[str, SecretStr] | None:
    """Returns the secrets of a start request, by name. `encrypted`: the encrypted text that is stored in the
    row of the conversation's start task. Returns None if `encrypted` is None.
    """
    if encrypted is None:
        return None
    return {name: SecretStr(value) for name, value in orjson.loads(cipher.decrypt(encrypted)).items()}


def url_of(inner_url: str, sandbox_id: UUID, conversation_id: UUID, name: str) -> str:
    """Returns the URL from which the conversation's sandbox fetches the value of the secret `name`. Requests
    to this URL need the session key of this sandbox. `inner_url`: the base URL at which sandboxes reach the
    app server.
    """
    conversation_path = f"{sandbox_id.hex}/conversations/{conversation_id.hex}"
    return f"{inner_url.rstrip('/')}/api/v1/sandboxes/{conversation_path}/secrets/{name}"


@inner_router.get(
    "/{sandbox_id}/conversations/{conversation_id}/secrets/{name}", response_class=PlainTextResponse
)
async def look_up(
    sandbox: CurrentSandbox,
    sandbox_id: UUID,
    conversation_id: UUID,
    name: SecretNameInPath,
    database: ServerDatabase,
    cipher: ServerCipher,
) -> PlainTextResponse:
    """Returns the value of a secret that the conversation's start request contained, as plain text."""
    if sandbox.id != sandbox_id or sandbox.status != SandboxStatus.RUNNING:
        raise _not_found()
    async with database.read() as session:
        encrypted = await _encrypted_secrets(session, sandbox, conversation_id)
    values = orjson.loads(cipher.decrypt(encrypted)) if encrypted else {}
    if name not in values:
        raise _not_found()
    await record_first_use(database, sandbox.user_id, sandbox.id, name, of_conversation=conversation_id)
    return PlainTextResponse(values[name], headers={"Cache-Control": "no-store"})


async def _encrypted_secrets(session: AsyncSession, sandbox: Sandbox, conversation_id: UUID) -> str | None:
    query = (
        select(StartTask.encrypted_secrets)
        .join(Conversation, Conversation.id == StartTask.id)
        .where(
            Conversation.id == conversation_id,
            Conversation.sandbox_id == sandbox.id,
            Conversation.deleted_at.is_(None),
        )
    )
    found: str | None = await session.scalar(query)
    return found


def _not_found() -> NotFound:
    return NotFound("There is no secret of this name.", code="secret_not_found")
