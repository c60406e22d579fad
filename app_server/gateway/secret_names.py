"""The route that lists the names of a sandbox's secrets. Programs call it with the same key with which they
call the sandbox's agent server.
"""

from uuid import UUID

from fastapi import APIRouter, Request

from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import NotFound
from app_server.gateway import agent_keys
from app_server.gateway.gateway import require_conversation, require_maker
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.secret_routes import SecretNames, names_for

router = APIRouter(prefix="/api/v1/sandboxes", tags=["Secrets"])


@router.get(
    "/{sandbox_id}/settings/secrets",
    responses={401: {"description": "The key is missing, wrong or has ended"}},
)
async def list_secret_names(
    request: Request, sandbox_id: UUID, cipher: ServerCipher, database: ServerDatabase
) -> SecretNames:
    """Returns the names of the secrets that commands in the sandbox may use. The reply never contains the
    values.

    The header `X-Session-API-Key` must contain a key for the sandbox's agent server: the `session_api_key`
    that the API has returned with the sandbox, or with a conversation in the sandbox.
    """
    grant = agent_keys.read(cipher, request, sandbox_id)
    await require_maker(request, grant)
    await require_conversation(request, grant)
    async with database.read() as session:
        sandbox = await session.get(Sandbox, sandbox_id)
        if sandbox is None or sandbox.status != SandboxStatus.RUNNING:
            raise NotFound("No such running sandbox.", code="sandbox_not_found")
        return await names_for(session, sandbox)
