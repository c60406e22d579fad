"""Routes to search, start, change and delete conversations, to send messages, and to control the agent of a
conversation.
"""

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from app_server.access.audit_trail import AuditTrail, CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.conversations import listing, service
from app_server.conversations import waiting_messages as waiting
from app_server.conversations.changes import ConversationChanges
from app_server.conversations.listing import ConversationFilter
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.message_schemas import (
    MessageId,
    QueuedMessage,
    SendMessageReply,
    SendMessageRequest,
    WaitingMessage,
)
from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.routes.dependencies import (
    Linked,
    Links,
    SteeredConversation,
    Viewer,
)
from app_server.conversations.schemas import (
    MAX_TAGS,
    AppConversation,
    ConversationOrTask,
    Ids,
    PlainText,
    StartRequest,
    StartTaskInfo,
    Success,
    TagCount,
    TagFilter,
    UpdateConversation,
)
from app_server.conversations.sharing.service import make_public
from app_server.conversations.start.worker import ServerStartWorker
from app_server.conversations.switch_profile import SwitchProfile, switch_profile
from app_server.conversations.view import conversation_frame, in_order
from app_server.core.database import Database, Moment, ReadSession, ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.pagination import Limit, Page, PageId
from app_server.core.pubsub import Ended, ServerPubSub
from app_server.core.server_objects import ServerConfig
from app_server.llm_gateway.limits.spending import Payer, allow_as_much_again
from app_server.sandbox_specs.permission import permission_of
from app_server.sandboxes.service import ServerSandboxes
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/app-conversations", tags=["Conversations"])
pending_router = APIRouter(prefix="/api/v1/conversations", tags=["Conversations"])


def _filter(
    title__contains: Annotated[PlainText | None, Query(max_length=200)] = None,
    created_at__gte: Moment | None = None,
    created_at__lt: Moment | None = None,
    updated_at__gte: Moment | None = None,
    updated_at__lt: Moment | None = None,
    sandbox_id__eq: UUID | None = None,
    include_sub_conversations: bool = False,
    shared: bool | None = None,
    query: Annotated[PlainText | None, Query(max_length=200)] = None,
    selected_repository__contains: Annotated[PlainText | None, Query(max_length=200)] = None,
    selected_branch__eq: Annotated[PlainText | None, Query(max_length=255)] = None,
    llm_model__eq: Annotated[PlainText | None, Query(max_length=200)] = None,
    execution_status__eq: Annotated[PlainText | None, Query(max_length=50)] = None,
    tag: Annotated[list[TagFilter], Query(max_length=MAX_TAGS)] = [],  # noqa: B006 - FastAPI copies it
    archived: bool | None = None,
    created_by_user_id__eq: UUID | None = None,
) -> ConversationFilter:
    return ConversationFilter(
        title__contains,
        created_at__gte,
        created_at__lt,
        updated_at__gte,
        updated_at__lt,
        sandbox_id__eq,
        include_sub_conversations,
        shared,
        query,
        selected_repository__contains,
        selected_branch__eq,
        llm_model__eq,
        execution_status__eq,
        tag,
        archived,
        created_by_user_id__eq,
    )


Criteria = Annotated[ConversationFilter, Depends(_filter)]


@router.get("/search")
async def search_conversations(
    user: CurrentUser,
    session: ReadSession,
    viewer: Viewer,
    links: Linked,
    criteria: Criteria,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[AppConversation]:
    """Returns a page of the conversations that the user may see and that match the filters, newest first.

    `shared`: true for conversations that others share with the user, false for the user's own conversations;
    if left out, all conversations. `query`: a conversation matches if its title contains this text, or if one
    of its messages contains all words of this text. The beginnings of words also match.

    `tag`: a key, or `key:value`; a conversation must have all given tags. `archived`: true for archived
    conversations, false for the others; if left out, all conversations. `created_by_user_id__eq`: only
    conversations of this user.
    """
    page = await listing.search(session, viewer, user.id, criteria, page_id=page_id, limit=limit)
    return Page(items=[links.on(item) for item in page.items], next_page_id=page.next_page_id)


@router.get("/count")
async def count_conversations(user: CurrentUser, session: ReadSession, criteria: Criteria) -> int:
    return await listing.count(session, user.id, criteria)


@router.get("/tags")
async def get_tags(user: CurrentUser, session: ReadSession) -> list[TagCount]:
    """Returns the tags of the conversations that the user may see. Each tag comes with the number of
    conversations that have the tag.
    """
    return await listing.tags_of(session, user.id)


@router.get("")
async def get_conversations(
    user: CurrentUser, session: ReadSession, viewer: Viewer, links: Linked, ids: Annotated[Ids, Query()]
) -> list[AppConversation | None]:
    """Returns the conversations with these ids, in the order of the ids. The entry is null for an unknown id,
    and for a conversation that the user may not see.
    """
    found = await listing.batch(session, viewer, user.id, ids)
    return in_order(ids, {each: links.on(conversation) for each, conversation in found.items()})


@router.post("")
async def start_conversation(
    user: CurrentUser, trail: CurrentTrail, links: Linked, body: StartRequest, request: Request
) -> StartTaskInfo:
    """Starts a conversation and returns its start task at once. The start task shows the progress of the
    start.
    """
    return links.task(await _start(request, user, trail, body))


@router.post("/stream-start", responses={200: {"model": list[StartTaskInfo]}})
async def stream_start(
    user: CurrentUser, trail: CurrentTrail, links: Linked, body: StartRequest, request: Request
) -> StreamingResponse:
    """Starts a conversation and streams its start task (the progress of its start) as a JSON array.

    Whenever the status of the start task changes, the current start task is added to the array. The last
    element has the status READY or ERROR.
    """
    task = await _start(request, user, trail, body)
    return StreamingResponse(_progress(request, links, task.id), media_type="application/json")


@router.patch("/{conversation_id}")
async def update_conversation(
    user: CurrentUser,
    trail: CurrentTrail,
    viewer: Viewer,
    links: Linked,
    conversation_id: UUID,
    body: UpdateConversation,
    request: Request,
) -> AppConversation:
    """Changes the conversation's title, tags, selected repository or visibility, or archives or unarchives
    the conversation. A new title is also sent to the agent server, at once or as soon as the agent server can
    be reached. Returns the changed conversation.
    """
    changes = ConversationChanges(request.state, viewer, user, trail)
    return links.on(await changes.update(conversation_id, body))


@router.delete("/{conversation_id}")
async def delete_conversation(
    user: CurrentUser, trail: CurrentTrail, viewer: Viewer, conversation_id: UUID, request: Request
) -> Success:
    await ConversationChanges(request.state, viewer, user, trail).delete(conversation_id)
    return Success()


@router.post("/{conversation_id}/send-message")
async def send_message(
    user: CurrentUser,
    viewer: Viewer,
    conversation_id: UUID,
    body: SendMessageRequest,
    database: ServerDatabase,
    start_worker: ServerStartWorker,
    config: ServerConfig,
) -> SendMessageReply:
    """Sends a message to the agent. If the start of the conversation is not finished (not READY), the message
    is stored and sent later, and the reply has `message: "queued"`.

    If the sandbox is archived, the sandbox is restored first, and the message is sent when the sandbox runs
    again. The message also waits if there is not enough memory to wake a sleeping sandbox, or if the sandbox
    is being restarted.
    """
    reply = await service.send_message(
        database,
        viewer,
        user,
        conversation_id,
        body,
        max_bytes=config.max_message_bytes,
    )
    if reply.message is not None:
        start_worker.wake()
    return reply


@pending_router.post("/{conversation_id}/pending-messages", status_code=201)
async def queue_message(
    user: CurrentUser,
    viewer: Viewer,
    conversation_id: ConversationOrTask,
    body: SendMessageRequest,
    database: ServerDatabase,
    start_worker: ServerStartWorker,
    config: ServerConfig,
) -> QueuedMessage:
    """Stores a message for a conversation that is starting. If the start is already finished (READY), sends
    the message to the agent at once, as the route `send-message` does. In the path, a client may send the
    conversation's id, or `task-` and the id of the start task (the progress of the start).
    """
    queued = await service.queue_message(
        database,
        viewer,
        user,
        conversation_id,
        body,
        max_bytes=config.max_message_bytes,
    )
    if queued.queued:
        start_worker.wake()
    return queued


@pending_router.get("/{conversation_id}/pending-messages")
async def get_waiting_messages(
    user: CurrentUser, session: ReadSession, conversation_id: ConversationOrTask
) -> list[WaitingMessage]:
    """Returns the messages that the agent has not received yet, in the order in which they were sent."""
    return await waiting.waiting_messages(session, user.id, conversation_id)


@pending_router.delete(
    "/{conversation_id}/pending-messages/{message_id}",
    responses={409: {"description": "It is being handed to the agent"}},
)
async def take_message_back(
    user: CurrentUser,
    conversation_id: ConversationOrTask,
    message_id: MessageId,
    database: ServerDatabase,
    sandboxes: ServerSandboxes,
    start_worker: ServerStartWorker,
) -> Success:
    """Deletes a message that the agent has not received yet, so that the agent never receives it. If a
    sleeping sandbox was being woken only to deliver this message, the sandbox is not woken.
    """
    async with database.session() as session:
        sleeps_on = await waiting.take_back(session, user.id, conversation_id, message_id)
    if sleeps_on is not None:
        sandboxes.leave_queue(sleeps_on)
        await start_worker.announce(conversation_id)
    return Success()


@router.post("/{conversation_id}/run")
async def run_conversation(
    viewer: Viewer, conversation: SteeredConversation, database: ServerDatabase
) -> Success:
    async with database.session() as session:
        await allow_as_much_again(session, Payer(conversation.user_id, conversation.id))
    await viewer.sandboxes.client(conversation.sandbox_id).run(conversation.id)
    return Success()


@router.post("/{conversation_id}/pause")
async def pause_conversation(viewer: Viewer, conversation: SteeredConversation) -> Success:
    """Pauses the agent before its next model call. An action that is running is completed first."""
    await viewer.sandboxes.client(conversation.sandbox_id).pause(conversation.id)
    return Success()


@router.post("/{conversation_id}/interrupt")
async def interrupt_conversation(viewer: Viewer, conversation: SteeredConversation) -> Success:
    """Stops the agent immediately. The model's incomplete reply is dropped, and running actions are
    cancelled.
    """
    await viewer.sandboxes.client(conversation.sandbox_id).interrupt(conversation.id)
    return Success()


@router.post(
    "/{conversation_id}/switch_profile",
    responses={
        409: {"description": "The sandbox does not run"},
        502: {"description": "Its agent server failed"},
    },
)
async def switch_conversation_profile(
    user: CurrentUser,
    viewer: Viewer,
    conversation_id: UUID,
    body: SwitchProfile,
    database: ServerDatabase,
    cipher: ServerCipher,
    config: ServerConfig,
    pubsub: ServerPubSub,
) -> Success:
    """Makes the agent use the model of another model profile (a saved model configuration of the user),
    beginning with the agent's next model call.
    """
    shown = await switch_profile(
        database,
        cipher,
        viewer,
        user.id,
        conversation_id,
        body.profile_name,
        silence_seconds=config.llm_timeout_seconds,
    )
    pubsub.publish(conversation_id, [conversation_frame(shown)])
    async with database.read() as session:
        tell(pubsub, await channels_of(session, conversation_id), conversation_id)
    return Success()


async def _start(request: Request, user: User, trail: AuditTrail, body: StartRequest) -> StartTask:
    database: Database = request.state.database
    # The task is stored in a separate transaction, because the worker must find it when it is woken.
    async with database.session() as session:
        task = await service.start(
            session,
            request.state.config,
            request.state.cipher,
            user,
            body,
            sandboxes=request.state.sandboxes,
            specs=permission_of(
                request.state.config,
                request.state.sandboxes.describe(),
                administers=user.administers_installation,
            ),
        )
        if body.public:
            await make_public(session, user.id, trail, task.id, public=True)
        channels = await channels_of(session, task.id)
    for each in (task.id, body.parent_conversation_id):
        if each is not None:
            tell(request.state.pubsub, channels, each)
    request.state.start_worker.wake()
    return task


async def _progress(request: Request, links: Links, task_id: UUID) -> AsyncIterator[str]:
    database: Database = request.state.database
    shown: StartStatus | None = None
    yield "["
    try:
        async with request.state.pubsub.subscribe(task_id) as subscription:
            while True:
                async with database.read() as session:
                    task = await session.get(StartTask, task_id)
                if task is None:
                    break
                if task.status != shown:
                    yield ("," if shown else "") + links.task(task).model_dump_json()
                    shown = task.status
                if shown in {StartStatus.READY, StartStatus.ERROR}:
                    break
                await subscription.next()
    except Ended:
        # The array ends before READY. The task itself continues, and clients can ask for its state.
        pass
    yield "]"
