"""Stores the pull requests of conversations and their state at the git host. Also checks whether a new pull
request is allowed.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.database import now
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.events import log
from app_server.git_hosts.schemas import (
    NewPullRequest,
    PullRequest,
    PullRequestState,
)
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.repository_of import HostedRepository

MAX_OPEN_IN_REPOSITORY = 20
KNOWN_FOR = timedelta(days=7)
_EVENTS_OF_EVIDENCE = 400


async def rows_of(session: AsyncSession, conversation_id: UUID) -> Sequence[ConversationPullRequest]:
    """Returns the pull requests of a conversation, the newest first."""
    query = select(ConversationPullRequest).where(ConversationPullRequest.conversation_id == conversation_id)
    return (await session.scalars(query.order_by(ConversationPullRequest.created_at.desc()))).all()


async def require(
    session: AsyncSession, conversation_id: UUID, pull_request_id: UUID
) -> ConversationPullRequest:
    """Returns one pull request of the conversation. Raises NotFound `pull_request_not_found` if the
    conversation has no pull request with this id.
    """
    row = await session.get(ConversationPullRequest, pull_request_id)
    if row is None or row.conversation_id != conversation_id:
        raise NotFound("The conversation has no such pull request.", code="pull_request_not_found")
    return row


async def latest_events(session: AsyncSession, conversation_id: UUID) -> list[dict[str, object]]:
    """Returns the newest stored events of the conversation, sorted from the oldest to the newest."""
    last = await log.last_seq(session, conversation_id)
    first = max(1, last - _EVENTS_OF_EVIDENCE + 1)
    bodies = await log.read_bodies(session, conversation_id, from_seq=first, limit=_EVENTS_OF_EVIDENCE)
    return [orjson.loads(body) for body in bodies]


async def check_new(
    session: AsyncSession, user_id: UUID, repository: HostedRepository, new: NewPullRequest
) -> None:
    """Checks whether a new pull request is allowed, before its branch is pushed. `repository`: the repository
    at the git host. `new`: the data of the pull request, with its two branches.

    Raises BadRequest `same_branch` if the two branches are the same. Raises Conflict `too_many_pull_requests`
    if the user's agents already have MAX_OPEN_IN_REPOSITORY open pull requests in the repository.
    """
    if new.head == new.base and new.head_repository is None:
        raise BadRequest("A pull request needs two different branches.", code="same_branch")
    query = select(ConversationPullRequest.head).where(
        ConversationPullRequest.user_id == user_id,
        ConversationPullRequest.origin == repository.host.origin,
        ConversationPullRequest.repository == repository.name,
        ConversationPullRequest.state == PullRequestState.OPEN,
        # For a row that was refreshed earlier, it is not known whether the pull request is still open.
        ConversationPullRequest.refreshed_at > now() - KNOWN_FOR,
    )
    heads = (await session.scalars(query)).all()
    if len(heads) >= MAX_OPEN_IN_REPOSITORY and new.head not in heads:
        raise Conflict(
            f"{repository.name} has {MAX_OPEN_IN_REPOSITORY} open pull requests of your agents.",
            code="too_many_pull_requests",
            fix="Merge or close some of them first.",
        )


async def keep(
    session: AsyncSession, conversation: Conversation, repository: HostedRepository, found: PullRequest
) -> ConversationPullRequest:
    """Stores a pull request as belonging to the conversation, or updates the row if the pull request is
    already stored. Returns the row. `found`: the pull request as the git host has returned it.
    """
    query = select(ConversationPullRequest).where(
        ConversationPullRequest.conversation_id == conversation.id,
        ConversationPullRequest.origin == repository.host.origin,
        ConversationPullRequest.repository == repository.name,
        ConversationPullRequest.number == found.number,
    )
    row: ConversationPullRequest | None = await session.scalar(query)
    if row is None:
        row = ConversationPullRequest(
            conversation_id=conversation.id,
            user_id=conversation.user_id,
            provider=repository.host.provider,
            origin=repository.host.origin,
            repository=repository.name,
            number=found.number,
            checks=[],
            reviews=[],
            unresolved_threads=0,
            asked_threads=[],
        )
        session.add(row)
    describe(row, found)
    if found.number not in conversation.pr_number:
        conversation.pr_number = [*conversation.pr_number, found.number]
    await session.flush()
    return row


def describe(row: ConversationPullRequest, found: PullRequest) -> None:
    """Updates the database row with the state of the pull request at the git host, such as its title, its
    branches and its last commit. `found`: this state, as just read from the host.
    """
    row.url, row.title, row.state = found.url, found.title, found.state
    row.is_draft, row.head, row.base = found.is_draft, found.head, found.base
    row.head_commit, row.mergeability = found.head_commit, found.mergeability
    row.problem, row.refreshed_at = None, now()
