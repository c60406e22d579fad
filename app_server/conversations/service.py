"""What a user does with conversations. Every query is limited to the user's own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Select, func, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import SendMessageRequest as AgentMessage
from app_server.conversations import pending, start_tasks
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.projection import title_of
from app_server.conversations.schemas import (
    AppConversation,
    QueuedMessage,
    SendMessageReply,
    SendMessageRequest,
    StartRequest,
    UpdateConversation,
)
from app_server.conversations.start import refuse_foreign_path
from app_server.conversations.view import Viewer, conversation_rows
from app_server.database import Database, now
from app_server.encryption import Cipher
from app_server.errors import BadRequest, Conflict, Forbidden, NotFound, PayloadTooLarge, StartFailure
from app_server.git.address import Address, check_exists, parse_address
from app_server.pagination import decode_page_id, encode_page_id
from app_server.sandboxes.agent_client import AgentClient
from app_server.sandboxes.models import Sandbox
from app_server.settings.profiles import get_profile
from app_server.users.models import User


@dataclass(frozen=True)
class ConversationFilter:
    title_contains: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None
    sandbox_id: UUID | None = None


@dataclass(frozen=True)
class Page:
    items: list[AppConversation]
    next_page_id: str | None


async def search(
    session: AsyncSession,
    viewer: Viewer,
    user_id: UUID,
    criteria: ConversationFilter,
    *,
    page_id: str | None,
    limit: int,
) -> Page:
    """Newest first."""
    query = conversation_rows(user_id).where(*_conditions(criteria))
    if page_id is not None:
        created_at, last_id = page_position(page_id)
        query = query.where(tuple_(Conversation.created_at, Conversation.id) < tuple_(created_at, last_id))
    query = query.order_by(Conversation.created_at.desc(), Conversation.id.desc()).limit(limit + 1)
    rows = (await session.execute(query)).all()
    last = rows[limit - 1][0] if len(rows) > limit else None
    next_page_id = encode_page_id(last.created_at.isoformat(), last.id.hex) if last else None
    return Page([viewer.show(row) for row in rows[:limit]], next_page_id)


async def count(session: AsyncSession, user_id: UUID, criteria: ConversationFilter) -> int:
    query = select(func.count()).select_from(Conversation)
    owned = query.where(Conversation.user_id == user_id, Conversation.deleted_at.is_(None))
    return await session.scalar(owned.where(*_conditions(criteria))) or 0


async def batch(
    session: AsyncSession, viewer: Viewer, user_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, AppConversation]:
    rows = await session.execute(conversation_rows(user_id).where(Conversation.id.in_(ids)))
    return {row[0].id: viewer.show(row) for row in rows}


async def require(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> Conversation:
    """The user's conversation. Raises NotFound, also for somebody else's."""
    conversation = await session.scalar(_owned(user_id, conversation_id))
    if conversation is None:
        raise NotFound("No such conversation.")
    return conversation


async def start(
    session: AsyncSession, cipher: Cipher, user: User, request: StartRequest, *, max_message_bytes: int
) -> StartTask:
    """A new conversation and the task that brings it up; the same request id again gives the same task.

    Raises NotFound `llm_profile_not_found`, InvalidRepository (422), Forbidden `repository_not_allowed`,
    PayloadTooLarge, Conflict `conversation_id_taken`.
    """
    if request.conversation_id and (known := await _known_task(session, user, request.conversation_id)):
        return known
    conversation_id = request.conversation_id or uuid4()
    message = request.initial_message
    if message:
        _check_size(message.to_agent(message.id or conversation_id.hex), max_message_bytes)
    profile = await get_profile(session, user.id, request.llm_profile)
    address = await _checked_address(request, user)
    secret_url = address.url if address and address.has_credentials else None
    if address and secret_url:
        request = request.model_copy(update={"selected_repository": address.public_url})
    session.add(
        Conversation(
            id=conversation_id,
            user_id=user.id,
            selected_repository=request.selected_repository,
            selected_branch=request.selected_branch,
            git_provider=request.git_provider,
            title=request.title or (title_of(message.model_dump()["content"]) if message else None),
            trigger=request.trigger,
            llm_profile=profile.name,
            llm_model=profile.model,
            last_seq=0,
        )
    )
    task = StartTask(
        id=conversation_id,
        user_id=user.id,
        status=StartStatus.WORKING,
        request=request.model_dump(mode="json", exclude_none=True),
        encrypted_repository_url=cipher.encrypt(secret_url) if secret_url else None,
        stages=start_tasks.new_stages(),
    )
    session.add(task)
    try:
        await session.flush()
    except IntegrityError as error:
        raise _id_taken() from error
    return task


async def retry(session: AsyncSession, user_id: UUID, task_id: UUID) -> StartTask:
    """A failed start goes on; one that did not fail stays as it is. Raises NotFound."""
    await require(session, user_id, task_id)
    task = await session.get_one(StartTask, task_id, with_for_update=True)
    if task.status == StartStatus.ERROR:
        start_tasks.retry(task)
        await session.flush()
    return task


async def rename(
    session: AsyncSession, viewer: Viewer, user_id: UUID, conversation_id: UUID, update_: UpdateConversation
) -> AppConversation:
    conversation = await require(session, user_id, conversation_id)
    conversation.title, conversation.updated_at = update_.title, now()
    await session.flush()
    shown = await viewer.find(session, conversation_id, user_id=user_id)
    assert shown is not None
    return shown


async def delete(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> None:
    """Hides it at once and for good; the worker removes the rest. Raises NotFound."""
    await require(session, user_id, conversation_id)
    await session.execute(
        update(Conversation).where(Conversation.id == conversation_id).values(deleted_at=now())
    )


async def send_message(
    database: Database,
    viewer: Viewer,
    user_id: UUID,
    conversation_id: UUID,
    message: SendMessageRequest,
    *,
    max_bytes: int,
) -> SendMessageReply:
    """Hands the message to the agent, or keeps it until the conversation is READY.

    Raises NotFound, PayloadTooLarge, TooManyRequests, Conflict `sandbox_not_running`, BadGateway.
    """
    message_id = message.id or uuid4().hex
    _check_size(message.to_agent(message_id), max_bytes)
    async with database.session() as session:
        task = await _locked_task(session, user_id, conversation_id)
        if task.status != StartStatus.READY:
            await pending.keep(session, conversation_id, message_id, message)
            shown = await viewer.find(session, conversation_id, user_id=user_id)
            assert shown is not None
            return SendMessageReply(success=True, sandbox_status=shown.sandbox_status, message="queued")
    # Outside the transaction: nobody waits for the sandbox with a lock in hand.
    await viewer.sandboxes.wake(conversation_id)
    await viewer.sandboxes.client(conversation_id).send_message(conversation_id, message.to_agent(message_id))
    async with database.read() as session:
        shown = await viewer.find(session, conversation_id, user_id=user_id)
    if shown is None:
        raise NotFound("No such conversation.")
    return SendMessageReply(success=True, sandbox_status=shown.sandbox_status)


async def queue_message(
    database: Database, user_id: UUID, conversation_id: UUID, message: SendMessageRequest, *, max_bytes: int
) -> QueuedMessage:
    """Keeps a message for a conversation that starts. Raises Conflict `conversation_ready` when it has."""
    message_id = message.id or uuid4().hex
    _check_size(message.to_agent(message_id), max_bytes)
    async with database.session() as session:
        task = await _locked_task(session, user_id, conversation_id)
        if task.status == StartStatus.READY:
            raise Conflict(
                "The conversation is ready: nothing waits any more.",
                code="conversation_ready",
                fix="Use its send-message route.",
            )
        position = await pending.keep(session, conversation_id, message_id, message)
    return QueuedMessage(id=message_id, queued=True, position=position)


@dataclass(frozen=True)
class Workplace:
    """Where the work of a conversation lies, and who serves it."""

    client: AgentClient
    directory: str
    base_commit: str | None


async def workplace(session: AsyncSession, viewer: Viewer, user_id: UUID, conversation_id: UUID) -> Workplace:
    """Raises NotFound, and Conflict `sandbox_not_running`."""
    conversation = await require(session, user_id, conversation_id)
    client = viewer.sandboxes.client(conversation_id)
    sandbox = await session.get(Sandbox, conversation_id)
    if sandbox is None or sandbox.working_dir is None:
        raise Conflict("The repository is not there yet.", code="repository_not_ready")
    return Workplace(client, sandbox.working_dir, conversation.base_commit)


def page_position(page_id: str) -> tuple[datetime, UUID]:
    """The moment and id at which a page begins. Raises BadRequest."""
    moment, last_id = decode_page_id(page_id, 2)
    try:
        return datetime.fromisoformat(moment).astimezone(UTC), UUID(hex=last_id)
    except (ValueError, OverflowError):
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id") from None


def _owned(user_id: UUID, conversation_id: UUID) -> Select[Conversation]:
    return select(Conversation).where(
        Conversation.id == conversation_id,
        Conversation.user_id == user_id,
        Conversation.deleted_at.is_(None),
    )


def _conditions(criteria: ConversationFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if criteria.title_contains is not None:
        conditions.append(Conversation.title.icontains(criteria.title_contains, autoescape=True))
    if criteria.created_from is not None:
        conditions.append(Conversation.created_at >= criteria.created_from)
    if criteria.created_before is not None:
        conditions.append(Conversation.created_at < criteria.created_before)
    if criteria.updated_from is not None:
        conditions.append(Conversation.updated_at >= criteria.updated_from)
    if criteria.updated_before is not None:
        conditions.append(Conversation.updated_at < criteria.updated_before)
    if criteria.sandbox_id is not None:
        conditions.append(Conversation.id == criteria.sandbox_id)
    return conditions


async def _known_task(session: AsyncSession, user: User, task_id: UUID) -> StartTask | None:
    known = await session.get(Conversation, task_id)
    if known is None:
        return None
    if known.user_id != user.id or known.deleted_at is not None:
        raise _id_taken()
    return await session.get_one(StartTask, task_id)


def _id_taken() -> Conflict:
    return Conflict("This conversation id is taken.", code="conversation_id_taken", fix="Choose another id.")


async def _checked_address(request: StartRequest, user: User) -> Address | None:
    if request.selected_repository is None:
        return None
    address = parse_address(request.selected_repository, request.git_provider)
    try:
        refuse_foreign_path(address, user.role)
    except StartFailure as failure:
        raise Forbidden(failure.cause, code=failure.code, fix=failure.fix) from failure
    await asyncio.to_thread(check_exists, address)
    return address


async def _locked_task(session: AsyncSession, user_id: UUID, conversation_id: UUID) -> StartTask:
    await require(session, user_id, conversation_id)
    return await session.get_one(StartTask, conversation_id, with_for_update=True)


def _check_size(message: AgentMessage, max_bytes: int) -> None:
    if message.size_bytes > max_bytes:
        raise PayloadTooLarge(
            f"The message's text is larger than {max_bytes} bytes.", code="message_too_large"
        )
