"""Finds a sandbox by its id, if it belongs to the user who sends the request."""

from uuid import UUID

from fastapi import Request

from app_server.core.errors import NotFound
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User


async def find_own(request: Request, user: User, sandbox_id: UUID) -> Sandbox:
    """Returns the sandbox with this id. Raises NotFound `sandbox_not_found` if there is no such sandbox or if
    it belongs to another user.
    """
    async with request.state.database.read() as session:
        sandbox: Sandbox | None = await session.get(Sandbox, sandbox_id)
    if sandbox is None or sandbox.user_id != user.id:
        raise NotFound("No such sandbox.", code="sandbox_not_found")
    return sandbox
