"""Which conversation of a sandbox makes a call: its user pays, within its limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Forbidden, NotFound
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User


@dataclass(frozen=True)
class Caller:
    """`working_dir`: of the conversation, once there is one. is_alone: no other one works in the sandbox."""

    user: User
    working_dir: str | None
    is_alone: bool


CallerOf = Callable[[AsyncSession, Sandbox, UUID], Awaitable[Caller | None]]
"""None unless the conversation works in that sandbox. Conversations are known further up."""


async def require_caller(
    find: CallerOf, session: AsyncSession, sandbox: Sandbox, conversation_id: UUID, *, is_proven: bool
) -> Caller:
    """Where several work, a call has to prove for which it is. Raises NotFound `conversation_not_found`,
    Forbidden `conversation_proof_missing`.
    """
    caller = await find(session, sandbox, conversation_id)
    if caller is None:
        raise NotFound("No such conversation works in this sandbox.", code="conversation_not_found")
    if not (is_proven or caller.is_alone):
        raise Forbidden(
            "This call of a model does not prove for which conversation of the shared sandbox it is.",
            code="conversation_proof_missing",
            fix="Choose the conversation's model anew: it gets an address with a proof then.",
        )
    return caller
