"""The operations on conversations that a user can request: start, delete, send a message. Every query returns
only conversations that the user has access to.
"""

from collections.abc import Collection
from uuid import UUID, uuid4

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.agent_client.calls import NoAnswer
from app_server.conversations.by_sandbox import without_sandbox
from app_server.conversations.log.event_quota import require_event_quota
from app_server.conversations.log.projection import title_of
from app_server.conversations.message_schemas import (
    QueuedMessage,
    SendMessageReply,
    SendMessageRequest,
    require_sendable,
)
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.repositories.workplaces import Workplace, checkouts_of, projects_of
from app_server.conversations.schemas import StartRequest
from app_server.conversations.sharing.access import Access, require_access, require_no_private_neighbours
from app_server.conversations.sharing.owning_team import give_to_team, team_for_start
from app_server.conversations.start import pending_messages as pending
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.processors import add_processors
from app_server.conversations.start.quotas import require_start_quota
from app_server.conversations.start.request import (
    checked_address,
    checked_more,
    with_clone_settings,
    with_directory,
    with_origin,
    with_parameters,
    with_spec,
    with_task,
)
from app_server.conversations.start.sandbox_choice import NewConversation, choose_sandbox
from app_server.conversations.start.secrets import encrypt_secrets
from app_server.conversations.sub_conversations import join_family, leave_family, with_parent
from app_server.conversations.view import Viewer
from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound
from app_server.levels.models import SettingName
from app_server.levels.service import require_allowed
from app_server.llm_gateway.limits.spending import Payer, allow_as_much_again, allow_conversation
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.permission import SpecPermission
from app_server.sandboxes.service import Sandboxes
from app_server.settings.profile_lookup import choose_profile
from app_server.settings.task_budget import budget_of_task
from app_server.users.models import User


async def require(
    session: AsyncSession, user_id: UUID, conversation_id: UUID, access: Access = Access.OWN
) -> Conversation:
    """Returns the conversation if the user has at least the access `access` to the conversation.

    Raises NotFound if there is no such conversation or the user has no access to it. Raises Forbidden
    `conversation_access_missing` if the user's access is lower than `access`.
    """
    return await require_access(session, user_id, conversation_id, access)


async def start(
    session: AsyncSession,
    config: Config,
    cipher: Cipher,
    user: User,
    request: StartRequest,
    *,
    sandboxes: Sandboxes,
    specs: SpecPermission,
) -> StartTask:
    """Creates a conversation and its start task (the record of the conversation's start). A second call with
    the same conversation id returns the same task. If the sandbox is new and later conversations may share
    it, its row is also created, so that they find it. `specs`: which sandbox specs the user may choose.

    Raises NotFound if something that the request names does not exist, such as a model or a sandbox. Raises
    BadRequest or InvalidRepository if a field is wrong. Raises PayloadTooLarge if the first message is too
    long. Raises Forbidden if a right is missing or an enforced setting forbids the request. Raises Conflict
    if the sandbox cannot be used. Raises Conflict `conversation_id_taken` if the id is in use. Raises
    TooManyRequests `quota_reached` if a quota is used up.
    """
    if request.conversation_id and (known := await _known_task(session, user, request.conversation_id)):
        return known
    conversation_id = request.conversation_id or uuid4()
    request = with_parameters(with_task(request))
    message = request.initial_message
    if message:
        require_sendable(message, config.max_message_bytes)
    request = await with_parent(session, user, request)
    request = with_directory(await with_origin(session, user, request))
    address = await checked_address(request, user, config.home)
    more = await checked_more(request, address, user, config.home)
    # The team decides which settings hold, so it must be known before they are read.
    owner = await team_for_start(session, user, address, [one.address for one in more])
    request = await with_clone_settings(session, user, request)
    profile = await choose_profile(session, user.id, name=request.llm_profile, model=request.llm_model)
    if request.confirmation_mode is not None:
        await require_allowed(
            session, user.id, SettingName.CONFIRMATION_MODE, request.confirmation_mode.value
        )
    secret_url = address.url if address and address.has_credentials else None
    if address and secret_url:
        request = request.model_copy(update={"selected_repository": address.public_url})
    # A start in a named sandbox uses the image of that sandbox.
    takes_any_image = request.sandbox_id is not None and request.sandbox_spec_id is None
    request = await with_spec(session, user, request, address, specs)
    origin = await sandbox_specs.origin_of(session, user.id, request.sandbox_spec_id, request.snapshot_id)
    new_conversation = NewConversation(
        id=conversation_id,
        user_id=user.id,
        backend=sandboxes.describe().backend,
        origin=origin,
        takes_any_image=takes_any_image,
        repository=address.identity if address else None,
        team_id=owner.team.id if owner else None,
    )
    placement = await choose_sandbox(session, config, new_conversation, request)
    await require_start_quota(session, user.id, placement.sandbox_id)
    conversation = Conversation(
        id=conversation_id,
        user_id=user.id,
        sandbox_id=placement.sandbox_id,
        folder=placement.folder,
        selected_repository=request.selected_repository,
        selected_branch=request.selected_branch,
        selected_directory=request.selected_directory,
        git_provider=request.git_provider,
        more_repositories=[one.model_dump() for one in more],
        title=request.title or (title_of(message.model_dump()["content"]) if message else None),
        trigger=request.trigger,
        pr_number=request.pr_number or [],
        parent_conversation_id=request.parent_conversation_id,
        sub_conversation_ids=[],
        llm_profile=profile.name,
        llm_model=profile.model,
        last_seq=0,
    )
    session.add(conversation)
    task = StartTask(
        id=conversation_id,
        user_id=user.id,
        sandbox_id=placement.sandbox_id,
        status=StartStatus.WORKING,
        request=request.model_dump(mode="json", exclude_none=True),
        encrypted_repository_url=cipher.encrypt(secret_url) if secret_url else None,
        encrypted_secrets=encrypt_secrets(cipher, request.secrets),
        stages=start_tasks.new_stages(),
    )
    session.add(task)
    try:
        await session.flush()
    except IntegrityError as error:
        raise _id_taken() from error
    if owner is not None:
        give_to_team(session, user, conversation, owner)
    await add_processors(session, user.id, conversation_id, request.processors or ())
    if request.parent_conversation_id is not None:
        await join_family(session, user.id, request.parent_conversation_id, conversation_id)
    if placement.is_open:
        await sandboxes.create(
            session,
            sandbox_id=placement.sandbox_id,
            user_id=user.id,
            base_image=origin.base_image,
            runtime_plugins=origin.runtime_plugins,
        )
    budget = await budget_of_task(
        session, user.id, asked=request.max_budget_per_task, of_profile=profile.max_budget_per_task
    )
    await allow_conversation(session, Payer(user.id, conversation_id), budget)
    return task


async def bring_back(session: AsyncSession, task: StartTask) -> bool:
    """If the conversation's sandbox is archived, makes a background task (the start worker) restore it, by
    reopening the start task (the record of the start). Returns whether the sandbox was archived.
    """
    return await _begin_again(session, task, {SandboxStatus.ARCHIVED})


async def _begin_again(session: AsyncSession, task: StartTask, statuses: Collection[SandboxStatus]) -> bool:
    """If the sandbox has one of these statuses, makes a background task (the start worker) start it when
    there is enough memory. To do so, sets the start task back to the status WAITING_FOR_SANDBOX. Returns
    whether the sandbox had one of these statuses.
    """
    sandbox = await session.get(Sandbox, task.sandbox_id, with_for_update=True)
    if sandbox is None or sandbox.status not in statuses:
        return False
    if sandbox.status != SandboxStatus.RUNNING:
        sandbox.status = SandboxStatus.STARTING
    start_tasks.begin_again(task)
    await session.flush()
    return True


async def delete(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> list[UUID]:
    """Deletes the conversation and its sub-conversations: they are hidden at once, and a background task
    removes their data later.

    Returns the ids of all deleted conversations. Raises NotFound if the user may not see the conversation.
    Raises Forbidden `conversation_access_missing` if the user is not its owner.
    """
    conversation = await require(session, user_id, conversation_id)
    # The row is locked, because a conversation that joins the sandbox must see whether this was the last one
    # in it.
    await session.get(Sandbox, conversation.sandbox_id, with_for_update=True)
    await session.execute(
        update(Conversation).where(Conversation.id == conversation_id).values(deleted_at=now())
    )
    return [conversation_id, *await leave_family(session, conversation, now())]


async def send_message(
    database: Database,
    viewer: Viewer,
    user: User,
    conversation_id: UUID,
    message: SendMessageRequest,
    *,
    max_bytes: int,
) -> SendMessageReply:
    """Sends the message to the agent. Stores the message and sends it later if the conversation is starting
    (not READY), if its sandbox does not run, or if it is unknown whether the agent has received the message.
    The reply says whether the message was stored. The owner of the conversation pays for the model calls.

    Raises BadRequest if the message is empty. Raises PayloadTooLarge if it is too long. Raises NotFound if
    the user may not see the conversation. Raises Forbidden if the user may only view it. Raises
    TooManyRequests if a quota is used up. Raises LogFull if the log has its maximum size. Raises BadGateway
    if the agent server fails. Raises Conflict `sandbox_not_running` if the sandbox stops. Raises Conflict
    `sandbox_holds_private_work` if another conversation in the sandbox is not shared with the user.
    """
    message_id = message.id or uuid4().hex
    require_sendable(message, max_bytes)
    async with database.session() as session:
        task = await locked_task(session, user.id, conversation_id)
        sender = sender_of(user, task)
        await bring_back(session, task)
        await _unarchive(session, conversation_id)
        if task.status != StartStatus.READY:
            return await _keep(session, viewer, user, conversation_id, message_id, message)
        await require_event_quota(session, await require(session, user.id, conversation_id, Access.STEER))
        await allow_as_much_again(session, Payer(task.user_id, conversation_id))
    # Outside the transaction: no lock is held while waiting for the sandbox.
    if not await viewer.sandboxes.is_awake(task.sandbox_id):
        return await _keep_for_later(database, viewer, user, conversation_id, message_id, message)
    client = viewer.sandboxes.client(task.sandbox_id)
    try:
        await client.send_message(conversation_id, message.to_agent(message_id, sender))
    except NoAnswer:
        # The message may have arrived. It is sent again later; its id makes sure that it counts only once.
        return await _keep_for_later(database, viewer, user, conversation_id, message_id, message)
    async with database.read() as session:
        shown = await viewer.find(session, conversation_id, user_id=user.id)
    if shown is None:
        raise NotFound("No such conversation.")
    return SendMessageReply(success=True, sandbox_status=shown.sandbox_status)


async def _unarchive(session: AsyncSession, conversation_id: UUID) -> None:
    """Marks the conversation as not archived. Called when a user sends a message to the conversation."""
    is_archived = (Conversation.id == conversation_id) & Conversation.archived_at.is_not(None)
    await session.execute(update(Conversation).where(is_archived).values(archived_at=None))


def sender_of(user: User, task: StartTask) -> str | None:
    """Returns the name to store as the sender of a message that `user` sends: the user's name, or None if the
    user owns the conversation. `task`: the start task of the conversation.
    """
    return None if task.user_id == user.id else user.name


async def queue_message(
    database: Database,
    viewer: Viewer,
    user: User,
    conversation_id: UUID,
    message: SendMessageRequest,
    *,
    max_bytes: int,
) -> QueuedMessage:
    """Stores a message for a conversation that is starting. If the start is finished (READY), sends the
    message at once. Returns whether the message waits, and its position in the queue.

    Raises BadRequest `message_empty` for an empty message. Raises PayloadTooLarge for a message that is too
    long. Raises TooManyRequests if too many messages wait. If the user may not send messages, or if the start
    is finished, raises the errors of `send_message`.
    """
    message_id = message.id or uuid4().hex
    require_sendable(message, max_bytes)
    async with database.session() as session:
        task = await locked_task(session, user.id, conversation_id)
        if task.status != StartStatus.READY:
            sender = sender_of(user, task)
            position = await pending.keep(session, conversation_id, message_id, message, sender)
            return QueuedMessage(id=message_id, queued=True, position=position)
    named = message.model_copy(update={"id": message_id})
    reply = await send_message(database, viewer, user, conversation_id, named, max_bytes=max_bytes)
    waits = reply.message is not None
    return QueuedMessage(id=message_id, queued=waits, position=1 if waits else 0)


async def workplace(
    session: AsyncSession,
    viewer: Viewer,
    user_id: UUID,
    conversation_id: UUID,
    access: Access = Access.OWN,
) -> Workplace:
    """Returns the conversation's directories in the sandbox, with an API client for its agent server. Raises
    NotFound if the user may not see the conversation. Raises Forbidden if the user's access to it is lower
    than `access`. Raises Conflict `sandbox_holds_private_work` if this is so for another conversation in the
    sandbox, because the client can read all files there. Raises Conflict `sandbox_not_running` if the sandbox
    does not run. Raises Conflict `repository_not_ready` if the repository is not fetched yet.
    """
    conversation = await require(session, user_id, conversation_id, access)
    await require_no_private_neighbours(session, user_id, conversation, access)
    client = viewer.sandboxes.client(conversation.sandbox_id)
    if conversation.working_dir is None:
        raise Conflict("The repository is not there yet.", code="repository_not_ready")
    is_own = conversation.user_id == user_id
    directory, began = conversation.working_dir, conversation.base_commit
    checkouts = checkouts_of(conversation, directory)
    projects = projects_of(checkouts, conversation.selected_directory)
    return Workplace(client, directory, began, is_own, tuple(checkouts), tuple(projects))


async def _known_task(session: AsyncSession, user: User, task_id: UUID) -> StartTask | None:
    known = await session.get(Conversation, task_id)
    if known is None:
        # The conversation that a shared sandbox was made for may be deleted. The sandbox then keeps its id
        # for the other conversations.
        if await session.get(Sandbox, task_id) is not None:
            raise _id_taken()
        return None
    if known.user_id != user.id or known.deleted_at is not None:
        raise _id_taken()
    return await session.get_one(StartTask, task_id)


def _id_taken() -> Conflict:
    return Conflict("This conversation id is taken.", code="conversation_id_taken", fix="Choose another id.")


async def locked_task(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> StartTask:
    """Locks the database row of the conversation's start task (the record of its start) and returns the task.
    Raises NotFound if the user may not see the conversation. Raises Forbidden if the user may not steer it
    (send messages and control the agent). Raises Conflict `sandbox_holds_private_work` if the user may not
    steer another conversation in the sandbox. Raises Conflict `conversation_imported` if the conversation is
    an import without a sandbox. Raises Conflict `sandbox_deleted` if its sandbox was deleted.
    """
    conversation = await require(session, user_id, conversation_id, Access.STEER)
    await require_no_private_neighbours(session, user_id, conversation, Access.STEER)
    task = await session.get_one(StartTask, conversation_id, with_for_update=True)
    if task.status == StartStatus.READY and await session.get(Sandbox, task.sandbox_id) is None:
        raise without_sandbox(conversation)
    return task


async def _keep_for_later(
    database: Database,
    viewer: Viewer,
    user: User,
    conversation_id: UUID,
    message_id: str,
    message: SendMessageRequest,
) -> SendMessageReply:
    """Stores the message until the sandbox runs again. Reopens the conversation's start task, so that a
    background task starts or restores the sandbox. `message_id`: the id under which the message is stored.
    Returns the API's reply, which says that the message waits.
    """
    async with database.session() as session:
        task = await locked_task(session, user.id, conversation_id)
        if task.status == StartStatus.READY:
            await _begin_again(session, task, set(SandboxStatus))
        return await _keep(session, viewer, user, conversation_id, message_id, message)


async def _keep(
    session: AsyncSession,
    viewer: Viewer,
    user: User,
    conversation_id: UUID,
    message_id: str,
    message: SendMessageRequest,
) -> SendMessageReply:
    task = await session.get_one(StartTask, conversation_id)
    await pending.keep(session, conversation_id, message_id, message, sender_of(user, task))
    shown = await viewer.find(session, conversation_id, user_id=user.id)
    assert shown is not None
    return SendMessageReply(success=True, sandbox_status=shown.sandbox_status, message="queued")
