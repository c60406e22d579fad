"""Tests of the hourly limit on signatures of one sandbox, which counts over several app servers on one
database.
"""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from app_server.commit_signing import hourly_limit
from app_server.commit_signing.hourly_limit import count_signature
from app_server.commit_signing.models import CommitSignatureCount
from app_server.core.database import Database
from app_server.core.errors import TooManyRequests
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from tests.app_server.conftest import App


@pytest.mark.both_databases
async def test_two_servers_count_the_signatures_of_a_sandbox_together(
    app: App, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hourly_limit, "MAX_PER_HOUR", 6)
    sandbox = Sandbox(
        id=uuid4(),
        user_id=owner.id,
        status=SandboxStatus.RUNNING,
        session_key_hash="none",
        encrypted_session_key="",
        spec_id="process",
        server_id=app.state["sandboxes"].server_id,
    )
    async with app.database.session() as session:
        session.add(sandbox)
    other = Database(app.config.resolved_database_url)

    async def signature(server: Database) -> str:
        try:
            async with server.session() as session:
                await count_signature(session, sandbox.id)
        except TooManyRequests as error:
            return error.code
        return "signed"

    try:
        made = await asyncio.gather(*(signature(server) for server in (app.database, other) * 4))
        assert sorted(made) == ["signed"] * 6 + ["too_many_signatures"] * 2
        async with app.database.session() as session:
            counted = await session.get_one(CommitSignatureCount, sandbox.id)
            counted.began_at -= timedelta(hours=1)
        assert await signature(other) == "signed"
    finally:
        await other.close()
