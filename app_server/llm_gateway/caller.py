"""Finds out which conversation in a sandbox makes a model call. The user of this conversation pays for the
call, within the user's spending limits.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Forbidden, NotFound
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User


@dataclass(frozen=True)
class Caller:
    """The conversation that makes a model call, with the data that the app server needs to charge and forward
    the call. `user`: the user of the conversation, who pays.

    `working_dir`: the conversation's working directory; None until the conversation has one. `is_alone`:
    whether no other conversation works in the sandbox; then the call needs no proof of its conversation.
    `events`: the number of events of the conversation, which a quota may limit.
    """

    user: User
    working_dir: str | None
    is_alone: bool
    events: int


CallerOf = Callable[[AsyncSession, Sandbox, UUID], Awaitable[Caller | None]]
"""A function that finds the conversation with this id as a Caller. It returns None if the conversation does
not work in the given sandbox. Other functions get it as an argument, because this package may not import the
package of conversations.
"""


async def require_caller(
    find: CallerOf, session: AsyncSession, sandbox: Sandbox, conversation_id: UUID, *, is_proven: bool
) -> Caller:
    """Returns the conversation that makes the model call. If several conversations share the sandbox, the
    call must contain the secret text that proves which conversation it comes from (conversation_proof.py).

    `find`: the function that looks the conversation up. `is_proven`: whether the call contains this proof.
    Raises NotFound `conversation_not_found` if the conversation does not work in the sandbox. Raises
    Forbidden `conversation_proof_missing` if several conversations share the sandbox and the call contains no
    proof.
    """
    caller = await find(session, sandbox, conversation_id)
    if caller is None:
        raise NotFound("No such conversation works in this sandbox.", code="conversation_not_found")
    if not (is_proven or caller.is_alone):
        raise Forbidden(
            "This call of a model does not prove for which conversation of the shared sandbox it is.",
            code="conversation_proof_missing",
            fix="Choose the conversation's model again: the new address contains the proof.",
        )
    return caller
