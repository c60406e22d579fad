"""Starts new conversations for callbacks of the kind `task`. Such a callback starts a new conversation when a
matching event happens in another conversation.
"""

from uuid import UUID

from agent_runtime.events.content import TextContent
from app_server.access.permissions import Permission, permissions_of
from app_server.callbacks.tasks import TRIGGER, StartTask
from app_server.conversations import service
from app_server.conversations.message_schemas import SendMessageRequest
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.more_repositories import AnotherRepository, KeptRepository
from app_server.conversations.schemas import StartRequest
from app_server.conversations.start.worker import StartWorker
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import Forbidden, NotFound
from app_server.sandbox_specs.permission import permission_of
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import User


def starter(
    config: Config, database: Database, cipher: Cipher, sandboxes: Sandboxes, start_worker: StartWorker
) -> StartTask:
    """Returns the function that starts a new conversation for a callback of the kind `task`. The callbacks
    package calls this function when an event that matches the callback has happened in another conversation.

    The returned function raises Forbidden if the user who owns the callback may not start conversations. It
    raises NotFound if the conversation in which the event happened no longer exists or no longer belongs to
    this user.
    """

    async def start(user: User, origin_id: UUID, task_id: UUID, title: str, text: str) -> None:
        if Permission.WORK not in permissions_of(user.role, user.organisation_id):
            raise Forbidden("The user of the callback may not start conversations.")
        async with database.session() as session:
            origin = await session.get(Conversation, origin_id)
            if origin is None or origin.deleted_at is not None or origin.user_id != user.id:
                raise NotFound("The conversation of the event no longer exists.")
            await service.start(
                session,
                config,
                cipher,
                user,
                _request(origin, task_id, title, text),
                sandboxes=sandboxes,
                specs=permission_of(config, sandboxes.describe(), administers=user.administers_installation),
            )
        start_worker.wake()

    return start


def _request(origin: Conversation, task_id: UUID, title: str, text: str) -> StartRequest:
    chosen = origin.chosen_repository
    more = [
        AnotherRepository(repository=one.repository, branch=one.branch, git_provider=one.git_provider)
        for one in KeptRepository.all_of(origin.more_repositories if chosen else [])
    ]
    return StartRequest(
        conversation_id=task_id,
        initial_message=SendMessageRequest(content=[TextContent(text=text)]),
        more_repositories=more,
        title=title,
        trigger=TRIGGER,
        **chosen,
    )
