"""Routes for the start tasks of the current user's conversations. A start task is the progress of starting
one conversation.
"""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy import ColumnElement, func, select, tuple_

from app_server.access.authentication import CurrentUser
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.routes.dependencies import Linked
from app_server.conversations.schemas import Ids, RetryStart, StartTaskInfo
from app_server.conversations.start.retries import retry
from app_server.conversations.start.worker import ServerStartWorker
from app_server.conversations.view import in_order, start_task_frame
from app_server.core.database import Moment, ReadSession, ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.pagination import Limit, Page, PageId, encode_page_id, page_position
from app_server.core.pubsub import ServerPubSub
from app_server.core.server_objects import ServerConfig

router = APIRouter(prefix="/api/v1/app-conversations/start-tasks", tags=["Conversations"])


class StartTaskSortOrder(StrEnum):
    CREATED_AT = "CREATED_AT"
    CREATED_AT_DESC = "CREATED_AT_DESC"
    UPDATED_AT = "UPDATED_AT"
    UPDATED_AT_DESC = "UPDATED_AT_DESC"


@router.get("/search")
async def search_start_tasks(
    user: CurrentUser,
    session: ReadSession,
    links: Linked,
    conversation_id__eq: UUID | None = None,
    created_at__gte: Moment | None = None,
    sort_order: StartTaskSortOrder = StartTaskSortOrder.CREATED_AT_DESC,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[StartTaskInfo]:
    by_update = sort_order.startswith("UPDATED_AT")
    column = StartTask.updated_at if by_update else StartTask.created_at
    descending = sort_order.endswith("_DESC")
    query = select(StartTask).where(*_owned(user.id, conversation_id__eq, created_at__gte))
    if page_id is not None:
        position, sort_key = tuple_(*page_position(page_id)), tuple_(column, StartTask.id)
        query = query.where(sort_key < position if descending else sort_key > position)
    order = [column, StartTask.id]
    query = query.order_by(*(each.desc() if descending else each.asc() for each in order)).limit(limit + 1)
    tasks = (await session.scalars(query)).all()
    last = tasks[limit - 1] if len(tasks) > limit else None
    moment = (last.updated_at if by_update else last.created_at) if last else None
    return Page(
        items=[links.task(task) for task in tasks[:limit]],
        next_page_id=encode_page_id(moment.isoformat(), last.id.hex) if last and moment else None,
    )


@router.get("/count")
async def count_start_tasks(
    user: CurrentUser,
    session: ReadSession,
    conversation_id__eq: UUID | None = None,
    created_at__gte: Moment | None = None,
) -> int:
    conditions = _owned(user.id, conversation_id__eq, created_at__gte)
    return await session.scalar(select(func.count()).select_from(StartTask).where(*conditions)) or 0


@router.get("")
async def get_start_tasks(
    user: CurrentUser, session: ReadSession, links: Linked, ids: Annotated[Ids, Query()]
) -> list[StartTaskInfo | None]:
    """Returns the start tasks (the progress of starting conversations) with these ids, in the order of the
    ids. An entry is null for an unknown id.
    """
    query = select(StartTask).where(*_owned(user.id, None, None), StartTask.id.in_(ids))
    return in_order(ids, {task.id: links.task(task) for task in await session.scalars(query)})


@router.post("/{task_id}/retry")
async def retry_start(
    user: CurrentUser,
    links: Linked,
    task_id: UUID,
    pubsub: ServerPubSub,
    start_worker: ServerStartWorker,
    database: ServerDatabase,
    cipher: ServerCipher,
    config: ServerConfig,
    body: RetryStart | None = None,
) -> StartTaskInfo:
    """Retries the failed start of a conversation, beginning with the stage that failed. Returns the start
    task (the progress of the start).

    If the start failed before the repository was fetched, the request body can name another branch or
    repository.
    """
    async with database.session() as session:
        task = await retry(session, cipher, config.home, user, task_id, body)
        channels = await channels_of(session, task_id)
    pubsub.publish(task_id, [start_task_frame(task)])
    tell(pubsub, channels, task_id)
    start_worker.wake()
    return links.task(task)


def _owned(
    user_id: UUID, conversation_id: UUID | None, created_from: Moment | None
) -> list[ColumnElement[bool]]:
    deleted = select(Conversation.id).where(Conversation.deleted_at.is_not(None))
    conditions = [StartTask.user_id == user_id, StartTask.id.not_in(deleted)]
    if conversation_id is not None:
        conditions.append(StartTask.id == conversation_id)
    if created_from is not None:
        conditions.append(StartTask.created_at >= created_from)
    return conditions
