"""Requests the current state of pull requests from the git hosts and stores it. Also replies to review
threads that the agent has addressed.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from app_server.core.database import Database, now
from app_server.core.errors import AppError
from app_server.git_hosts.connect import GitHosts
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import Check, PullRequest, PullRequestState, Review, ReviewThread
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.review_replies import answer, take
from app_server.pull_requests.service import describe

FRESH = timedelta(seconds=20)


def is_stale(row: ConversationPullRequest) -> bool:
    """Returns whether the stored state of the pull request is so old that Slipway must ask the git host for
    the current state. Returns False for a closed pull request.
    """
    return row.state is PullRequestState.OPEN and now() - row.refreshed_at > FRESH


async def refresh(
    database: Database,
    hosts: GitHosts,
    pull_request_id: UUID,
    *,
    answers: bool = True,
    said: str | None = None,
) -> None:
    """Requests the state of the pull request from the git host and stores the state. If the host fails,
    stores the reason in the field `problem` of the row and raises no error.

    `answers`: whether to reply also to the review threads that the agent was asked to address. A reply is
    written only if the branch has a new commit or the agent has ended its work. `said`: the agent's last
    message if the agent has ended its work, otherwise None.
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
            stored = await session.get(ConversationPullRequest, pull_request_id)
            if stored is not None:
                stored.problem, stored.refreshed_at = error.detail, now()
        return
    async with database.session() as session:
        stored = await session.get(ConversationPullRequest, pull_request_id, with_for_update=True)
        if stored is None:
            return  # its conversation was deleted meanwhile
        describe(stored, found)
        stored.checks = [check.model_dump(mode="json") for check in checks]
        stored.reviews = [review.model_dump(mode="json") for review in reviews]
        stored.unresolved_threads = sum(not thread.is_resolved for thread in threads)
        has_ended = said is not None
        addressed = take(stored, found, threads, has_ended=has_ended) if answers else []
    await answer(client, row, found, addressed, said)


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
