"""Routes that create, find, run, stop and delete conversations."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response, status

from agent_runtime.context.git_state import git_state
from agent_runtime.conversation.add_plugin import take_plugin_keys
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.delegation.answers import go_on_above
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.server.conversations.catalog import ConversationSortOrder
from agent_runtime.server.conversations.start_fields import checked_start
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.conversation.skill_texts import WantedView
from agent_runtime.server.routers.dependencies import (
    AllChildren,
    AllWorkTrees,
    Conversations,
    LoadedConversation,
)
from agent_runtime.server.routers.project.executables import Approved
from agent_runtime.server.routers.project.plugins import Plugins
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.workspace.runtime_plugins import AllRuntimePlugins
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings
from agent_runtime.server.saved.secret_exposure import Saved, fully_decrypted
from agent_runtime.wire import (
    MAX_MESSAGE_BYTES,
    ConversationInfo,
    ConversationPage,
    FinalResponse,
    SendMessageRequest,
    StartConversationRequest,
    Success,
)

router = Router(prefix="/api/conversations", tags=["conversations"])

MAX_PAGE = 100


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses={
        200: {"model": ConversationInfo},
        404: {"description": "There is no runtime plugin of such a name"},
        409: {"description": "One of that id is being deleted, or another server works on it"},
        503: {"description": "A runtime plugin that it needs is not here, or does not start"},
    },
)
async def create(
    request: StartConversationRequest,
    response: Response,
    registry: Conversations,
    plugins: Plugins,
    approved: Approved,
    runtime_plugins: AllRuntimePlugins,
    worktrees: AllWorkTrees,
    saved: Saved,
    view: WantedView,
) -> ConversationInfo:
    """Creates a conversation and returns its description. If a conversation with the id in the request
    exists, returns the description of that existing conversation with status 200; the existing conversation
    then uses the API keys of the request.

    If the request has `worktree` and the workspace lies in a git repository, the agent works in a git work
    tree that is made for this conversation.
    """
    if request.initial_message is not None:
        check_size(request.initial_message)
    request = checked_start(request)
    if request.secrets_encrypted:
        request = _with_decrypted_secrets(request, saved)
    await runtime_plugins.start_all(request.runtime_plugins)
    if request.conversation_id is None or not registry.has(request.conversation_id):
        request = await worktrees.prepare(request)
    try:
        if request.conversation_id is None or not registry.has(request.conversation_id):
            request = await approved.expand(await plugins.expand(request))
        git = await git_state(Path(request.workspace.working_dir))
        conversation, is_new = registry.create(request, git=git)
    except BaseException:
        await worktrees.discard(request)
        raise
    if not is_new:
        response.status_code = status.HTTP_200_OK
        await take_plugin_keys(conversation, plugins, approved)
    first = request.initial_message
    if first is not None and (is_new or _is_cut_off(conversation, first)):
        deliver(conversation, first)
    return view(conversation.info())


@router.get("/search")
async def search(
    registry: Conversations,
    view: WantedView,
    page_id: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
    status: ExecutionStatus | None = None,
    sort_order: ConversationSortOrder = ConversationSortOrder.CREATED_AT_DESC,
) -> ConversationPage:
    """Returns a page of conversations. `page_id` is the `next_page_id` of the previous page."""
    page = await registry.catalog.search(status=status, order=sort_order, page_id=page_id, limit=limit)
    return page.model_copy(update={"items": [view(one) for one in page.items]})


@router.get("/count")
async def count(registry: Conversations, status: ExecutionStatus | None = None) -> int:
    return await registry.catalog.count(status)


@router.get("")
async def get_many(
    registry: Conversations, ids: Annotated[list[UUID], Query(max_length=99)], view: WantedView
) -> list[ConversationInfo | None]:
    """Returns the conversations with these ids, in the same order; null for each id that does not exist."""
    return [one and view(one) for one in await registry.catalog.infos(ids)]


@router.get("/{conversation_id}")
async def get(conversation: LoadedConversation, view: WantedView) -> ConversationInfo:
    return view(conversation.info())


@router.delete("/{conversation_id}")
async def delete(conversation_id: UUID, children: AllChildren) -> Success:
    """Deletes a conversation and its child conversations."""
    await children.delete(conversation_id)
    return Success()


@router.post("/{conversation_id}/run", responses={409: {"description": "A run is going on"}})
async def run(conversation: LoadedConversation, children: AllChildren) -> Success:
    conversation.start()
    go_on_above(conversation, children)
    return Success()


@router.post("/{conversation_id}/pause")
async def pause(conversation: LoadedConversation) -> Success:
    conversation.pause()
    return Success()


@router.post("/{conversation_id}/interrupt")
async def interrupt(conversation: LoadedConversation) -> Success:
    await conversation.interrupt()
    return Success()


@router.get("/{conversation_id}/agent_final_response")
async def agent_final_response(conversation: LoadedConversation) -> FinalResponse:
    return FinalResponse(response=conversation.state.final_response)


def check_size(message: SendMessageRequest) -> None:
    """Checks the size of a message. Raises ServerProblem 413 if its text has more than MAX_MESSAGE_BYTES."""
    if message.size_bytes > MAX_MESSAGE_BYTES:
        raise ServerProblem(
            413,
            "message_too_large",
            f"A message may carry {MAX_MESSAGE_BYTES} bytes of text; this one has {message.size_bytes}.",
            "Upload long texts as files and mention their path.",
        )


def deliver(conversation: ConversationEngine, message: SendMessageRequest) -> None:
    """Adds the message to the conversation. If the field `run` of the message is true, also starts the agent,
    unless the agent is already working. A message that the conversation already has is not added again.
    """
    is_new = conversation.send(message.to_message(), message_id=message.id, sender=message.sender)
    # A repeated message starts no run. Exception: the server ended after it stored the message and before it
    # started the run.
    is_waiting = conversation.status is ExecutionStatus.IDLE and conversation.state.has_work
    if message.run and not conversation.is_running and (is_new or is_waiting):
        conversation.start()


def _with_decrypted_secrets(
    request: StartConversationRequest, saved: EncryptedSettings
) -> StartConversationRequest:
    encrypted = {"agent": request.agent, "secrets": request.secrets}
    return request.model_copy(update={**fully_decrypted(saved, encrypted), "secrets_encrypted": False})


def _is_cut_off(conversation: ConversationEngine, first: SendMessageRequest) -> bool:
    """Returns whether the caller must call `deliver` again for `first`, the first message of an existing
    conversation. The request that created the conversation may have been interrupted before the message was
    added or the agent was started.

    Returns True if the log is empty, because then the message is missing. Also returns True if the log
    contains the message, because then the agent may not have been started. `deliver` does not add the message
    a second time.
    """
    log = conversation.log
    return log.last_seq == 0 or (first.id is not None and log.seq_of(first.id) is not None)
