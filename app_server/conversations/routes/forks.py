"""The route that makes an independent copy (a fork) of a conversation."""

from fastapi import APIRouter

from app_server.access.authentication import CurrentUser
from app_server.conversations.forks import ForkConversation, Forks
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.routes.dependencies import Linked, OwnedConversation
from app_server.conversations.schemas import StartTaskInfo
from app_server.conversations.start.worker import ServerStartWorker
from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.pubsub import ServerPubSub
from app_server.core.server_objects import ServerConfig
from app_server.sandbox_specs.permission import permission_of
from app_server.sandboxes.service import ServerSandboxes

router = APIRouter(prefix="/api/v1/app-conversations", tags=["Conversations"])


@router.post(
    "/{conversation_id}/fork",
    status_code=201,
    responses={
        409: {"description": "It has no files, has not started, or its sandbox mixes the files of several"},
        503: {"description": "Its files could not be copied"},
    },
)
async def fork_conversation(
    user: CurrentUser,
    conversation: OwnedConversation,
    body: ForkConversation,
    links: Linked,
    database: ServerDatabase,
    config: ServerConfig,
    cipher: ServerCipher,
    sandboxes: ServerSandboxes,
    pubsub: ServerPubSub,
    start_worker: ServerStartWorker,
) -> StartTaskInfo:
    """Makes an independent copy of the conversation in a separate sandbox. Returns the start task of the copy
    (the fork), which shows the progress of its start.

    The fork contains the current files of the project and the events of the original. If `from_event_id` is
    given, later events are left out. The fork keeps the model, the tags, the repositories, the secrets of the
    start request, and safeguards such as the confirmation mode and the budget. It does not get the
    checkpoints, sub-conversations, costs and waiting messages of the original, and it is not shared with
    other people. If the sandbox is a container, it is paused while its files are copied. The deletion of the
    original does not change the fork, and the deletion of the fork does not change the original.
    """
    forks = Forks(
        config,
        database,
        cipher,
        sandboxes,
        permission_of(config, sandboxes.describe(), administers=user.administers_installation),
    )
    task = await forks.fork(user, conversation, body)
    async with database.read() as session:
        channels = await channels_of(session, task.id)
    tell(pubsub, channels, task.id)
    start_worker.wake()
    return links.task(task)
