"""The routes by which a sandbox lists the names of its user's secrets and looks up their values, one at a
time, when a command names a secret.
"""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import record_first_use
from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import NotFound
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.auth import CurrentSandbox
from app_server.secrets.in_effect import secret_for, secrets_for
from app_server.secrets.schemas import SecretNameInPath
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

inner_router = APIRouter(prefix="/api/v1/sandboxes", tags=["Secrets"])


def secret_url(inner_url: str, sandbox_id: UUID, name: str) -> str:
    """Returns the URL at which the sandbox reads this secret.

    Only the sandbox's own session key gives access.
    """
    return f"{inner_url.rstrip('/')}/api/v1/sandboxes/{sandbox_id.hex}/settings/secrets/{name}"


class SecretName(BaseModel):
    name: str
    description: str | None


class SecretNames(BaseModel):
    secrets: list[SecretName]


async def names_for(session: AsyncSession, sandbox: Sandbox) -> SecretNames:
    """Returns the names of the secrets that the sandbox may look up."""
    await put_team_of_sandbox_first(session, sandbox.id)
    found = await secrets_for(session, sandbox.user_id)
    return SecretNames(secrets=[SecretName(name=each.name, description=each.description) for each in found])


@inner_router.get("/{sandbox_id}/settings/secrets")
async def list_names(sandbox: CurrentSandbox, sandbox_id: UUID, database: ServerDatabase) -> SecretNames:
    """Returns the names of the secrets that the sandbox may look up."""
    if sandbox.id != sandbox_id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    async with database.read() as session:
        return await names_for(session, sandbox)


@inner_router.get("/{sandbox_id}/settings/secrets/{name}", response_class=PlainTextResponse)
async def look_up(
    sandbox: CurrentSandbox,
    sandbox_id: UUID,
    name: SecretNameInPath,
    database: ServerDatabase,
    cipher: ServerCipher,
) -> PlainTextResponse:
    """Returns the secret's value as plain text. The audit log records the first use by each sandbox."""
    if sandbox.id != sandbox_id or sandbox.status != SandboxStatus.RUNNING:
        raise NotFound("There is no secret of this name.", code="secret_not_found")
    async with database.read() as session:
        await put_team_of_sandbox_first(session, sandbox.id)
        secret = await secret_for(session, sandbox.user_id, name)
    await record_first_use(database, sandbox.user_id, sandbox.id, name)
    return PlainTextResponse(cipher.decrypt(secret.value_encrypted), headers={"Cache-Control": "no-store"})
