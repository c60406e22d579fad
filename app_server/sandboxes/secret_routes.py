"""Routes by which a sandbox reads the secrets of its user. One route lists the names of the secrets. Another
route returns the value of one secret; the sandbox calls this route when a command uses the secret.
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
    """Returns the URL at which the sandbox reads the value of this secret. Requests to the URL must contain
    the session key (the secret with which a sandbox authenticates) of the same sandbox. `inner_url`: the URL
    of the app server's port for sandboxes.
    """
    return f"{inner_url.rstrip('/')}/api/v1/sandboxes/{sandbox_id.hex}/settings/secrets/{name}"


class SecretName(BaseModel):
    name: str
    description: str | None


class SecretNames(BaseModel):
    secrets: list[SecretName]


async def names_for(session: AsyncSession, sandbox: Sandbox) -> SecretNames:
    """Returns the names and descriptions of the secrets that the sandbox may read."""
    await put_team_of_sandbox_first(session, sandbox.id)
    found = await secrets_for(session, sandbox.user_id)
    return SecretNames(secrets=[SecretName(name=each.name, description=each.description) for each in found])


@inner_router.get("/{sandbox_id}/settings/secrets")
async def list_names(sandbox: CurrentSandbox, sandbox_id: UUID, database: ServerDatabase) -> SecretNames:
    """Returns the names and descriptions of the secrets that the sandbox may read, without the values."""
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
    """Returns the value of one secret as plain text to a running sandbox. The audit log records only the
    first time that this sandbox reads the secret.
    """
    if sandbox.id != sandbox_id or sandbox.status != SandboxStatus.RUNNING:
        raise NotFound("There is no secret of this name.", code="secret_not_found")
    async with database.read() as session:
        await put_team_of_sandbox_first(session, sandbox.id)
        secret = await secret_for(session, sandbox.user_id, name)
    await record_first_use(database, sandbox.user_id, sandbox.id, name)
    return PlainTextResponse(cipher.decrypt(secret.value_encrypted), headers={"Cache-Control": "no-store"})
