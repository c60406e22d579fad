"""Asks the hosts of pull requests how these stand, and answers review threads that were addressed."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from app_server.core.database import Database, now
from app_server.core.errors import AppError
from app_server.git_hosts.connect import GitHosts
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import Check, PullRequest, PullRequestState, Review, ReviewThread
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.service import describe

logger = logging.getLogger(__name__)

FRESH = timedelta(seconds=20)


def is_stale(row: ConversationPullRequest) -> bool:
    """Returns whether the host should be asked again: not about one that is closed."""
    return row.state is PullRequestState.OPEN and now() - row.refreshed_at > FRESH


async def refresh(
    database: Database, hosts: GitHosts, pull_request_id: UUID, *, answers: bool = True
) -> None:
    """Asks the host how the pull request stands, and stores the answer. With `answers`, answers the review
    threads that the agent was asked to address, once the branch has moved.

    A failure of the host is stored in `problem`; it is not raised.
    """
    async with database.read() as session:
        row = await session.get(ConversationPullRequest, pull_request_id)
    if row is None:
        return
    try:
        async with database.read() as session:
            client = (await hosts.at(session, row.origin)).client
        found = await client.pull_request(row.repository, row.number)
        checks, reviews, threads = await _details(client, row.repository, found)
    except AppError as error:
        async with database.session() as session:
            kept = await session.get(ConversationPullRequest, pull_request_id)
            if kept is not None:
                kept.problem, kept.refreshed_at = error.detail, now()
        return
    async with database.session() as session:
        kept = await session.get(ConversationPullRequest, pull_request_id, with_for_update=True)
        if kept is None:
            return  # its conversation was deleted meanwhile
        describe(kept, found)
        kept.checks = [check.model_dump(mode="json") for check in checks]
        kept.reviews = [review.model_dump(mode="json") for review in reviews]
        kept.unresolved_threads = sum(not thread.is_resolved for thread in threads)
        addressed = _take_addressed(kept, found, threads) if answers else []
    await _answer(client, row, found, addressed)


async def _details(
    client: GitHostClient, repository: str, found: PullRequest
) -> tuple[Sequence[Check], Sequence[Review], Sequence[ReviewThread]]:
    number = found.number
    checks, reviews, threads = await asyncio.gather(
        client.checks(repository, found),
        client.reviews(repository, number),
        client.review_threads(repository, number),
    )
    return checks, reviews, threads


def _take_addressed(
    row: ConversationPullRequest, found: PullRequest, threads: Sequence[ReviewThread]
) -> list[str]:
    """Returns the threads to answer now, and forgets them: each is answered at most once, also by two servers
    at a time.
    """
    if not row.asked_threads or None in {found.head_commit, row.asked_at_commit}:
        return []
    if found.head_commit == row.asked_at_commit:
        return []
    asked = set(row.asked_threads)
    row.asked_threads, row.asked_at_commit = [], None
    return [thread.id for thread in threads if thread.id in asked and not thread.is_resolved]


async def _answer(
    client: GitHostClient, row: ConversationPullRequest, found: PullRequest, thread_ids: Sequence[str]
) -> None:
    words = f"Addressed in the commits up to {str(found.head_commit)[:10]}."
    for thread_id in thread_ids:
        try:
            await client.reply_to_thread(row.repository, row.number, thread_id, words)
        except AppError as error:
            logger.warning(
                "a review thread could not be answered",
                extra={"pull_request": row.url, "review_thread": thread_id, "reason": error.detail},
            )
