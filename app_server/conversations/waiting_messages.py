"""Lists and deletes the messages of a conversation that the agent has not received yet."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.message_schemas import WaitingMessage
from app_server.conversations.models import StartStatus
from app_server.conversations.service import locked_task, require
from app_server.conversations.sharing.access import Access
from app_server.conversations.start import pending_messages as pending
from app_server.conversations.start import tasks as start_tasks
from app_server.core.errors import Conflict, NotFound
from app_server.sandbox_records.models import Sandbox, SandboxStatus


async def waiting_messages(
    session: AsyncSession, user_id: UUID, conversation_id: UUID
) -> list[WaitingMessage]:
    """Returns the messages that the agent has not received yet, in the order in which the agent will receive
    them. Raises NotFound if the user may not see the conversation.
    """
    await require(session, user_id, conversation_id, Access.VIEW)
    return [
        WaitingMessage.model_validate({**each.message, "id": each.id, "created_at": each.created_at})
        for each in await pending.all_of(session, conversation_id)
    ]


async def take_back(
    session: AsyncSession, user_id: UUID, conversation_id: UUID, message_id: str
) -> UUID | None:
    """Deletes a message that waits for the agent. If a paused sandbox was being started only for this
    message, its start is cancelled: the sandbox is paused again, and its id is returned. Otherwise returns
    None.

    Raises NotFound if the user may not see the conversation. Raises NotFound `message_not_waiting` if no such
    message waits, for example because the agent already has it. Raises Forbidden
    `conversation_access_missing` if the user may view the conversation but may not send messages to it.
    Raises Conflict `message_on_its_way` if the message is being sent. Raises Conflict
    `sandbox_holds_private_work` if another conversation in the sandbox is not shared with the user. Raises
    Conflict `conversation_imported` if the conversation was imported, so that it has no sandbox. Raises
    Conflict `sandbox_deleted` if the sandbox was deleted.
    """
    task = await locked_task(session, user_id, conversation_id)
    if not await pending.forget(session, conversation_id, message_id):
        raise NotFound("This message does not wait any more: the agent has it.", code="message_not_waiting")
    if task.status == StartStatus.STARTING_CONVERSATION:
        raise Conflict("The message is being handed to the agent.", code="message_on_its_way")
    sandbox = await session.get(Sandbox, task.sandbox_id, with_for_update=True)
    is_missed = await pending.first(session, conversation_id) is not None
    if is_missed or sandbox is None or not start_tasks.only_waits(task):
        return None
    # A sandbox that is being restored from an archive continues to start.
    if sandbox.status != SandboxStatus.STARTING or sandbox.archive_id is not None:
        return None
    start_tasks.wait_no_more(task)
    await session.flush()
    if await start_tasks.is_awaited(session, sandbox.id):
        return None
    sandbox.status = SandboxStatus.PAUSED
    await session.flush()
    return sandbox.id
