"""Tests of the limit on open pull requests of one user in one repository."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost
from app_server.git_hosts.schemas import Mergeability, NewPullRequest, PullRequestState
from app_server.pull_requests import service
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.repository_of import HostedRepository
from app_server.users.models import User
from tests.app_server.callbacks.test_webhooks_out import conversation_of
from tests.app_server.conftest import App
from tests.app_server.git_hosts.github_calls import Host

ORIGIN, NAME = "https://github.com", "team/harbour"


async def test_a_full_repository_takes_no_further_one_until_others_are_old(app: App, owner: User) -> None:
    conversation_id = await conversation_of(app, owner)
    repository = HostedRepository(ConnectedHost(ORIGIN, GitProvider.GITHUB, Host().client), NAME, None)
    async with app.database.session() as session:
        for number in range(1, service.MAX_OPEN_IN_REPOSITORY + 1):
            session.add(
                ConversationPullRequest(
                    conversation_id=conversation_id,
                    user_id=owner.id,
                    provider=GitProvider.GITHUB,
                    origin=ORIGIN,
                    repository=NAME,
                    number=number,
                    url=f"{ORIGIN}/{NAME}/pull/{number}",
                    title="Light it",
                    state=PullRequestState.OPEN,
                    is_draft=False,
                    head=f"light-{number}",
                    base="main",
                    mergeability=Mergeability.UNKNOWN,
                )
            )

    async def check(head: str, where: HostedRepository = repository) -> None:
        new = NewPullRequest(title="Light it", body="", head=head, base="main")
        async with app.database.read() as session:
            await service.check_new(session, owner.id, where, new)

    with pytest.raises(Conflict) as refusal:
        await check("light-21")
    assert refusal.value.code == "too_many_pull_requests"
    await check("light-20")
    await check("light-21", HostedRepository(repository.host, "team/pier", None))
    async with app.database.session() as session:
        old = now() - service.KNOWN_FOR
        await session.execute(update(ConversationPullRequest).values(refreshed_at=old - timedelta(seconds=1)))
    await check("light-21")
