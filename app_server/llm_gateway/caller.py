"""Which conversation of a sandbox makes a call: its user pays, within its limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.errors import NotFound
from app_server.sandboxes.models import Sandbox
from app_server.users.models import User


@dataclass(frozen=True)
class Caller:
    """`working_dir`: of the conversation, once there is one."""

    user: User
    working_dir: str | None


CallerOf = Callable[[AsyncSession, Sandbox, UUID], Awaitable[Caller | None]]
"""None unless the conversation works in that sandbox. Conversations are known further up."""


async def require_caller(
    find: CallerOf, session: AsyncSession, sandbox: Sandbox, conversation_id: UUID
) -> Caller:
    """Raises NotFound `conversation_not_found`."""
    caller = await find(session, sandbox, conversation_id)
    if caller is None:
        raise NotFound("No such conversation works in this sandbox.", code="conversation_not_found")
    return caller
