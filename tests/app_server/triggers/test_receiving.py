"""Tests of receiving deliveries of git hosts: each one is verified, stored and handed to one job."""

import asyncio
import hashlib
import hmac
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, delete, event, func, select

from app_server.core.errors import BadRequest, NotAuthenticated, NotFound
from app_server.core.jobs.models import Job
from app_server.git.providers import GitProvider
from app_server.triggers.models import Trigger
from app_server.triggers.receiving import KIND, Receiving
from app_server.users.models import User
from tests.app_server.conftest import App

_BODY = json.dumps(
    {
        "action": "labeled",
        "repository": {"full_name": "octo/app"},
        "sender": {"login": "mona", "id": 1},
        "issue": {"number": 7, "html_url": "https://github.com/octo/app/issues/7"},
        "label": {"name": "slipway"},
    }
).encode()


def _headers(body: bytes, delivery: str = "d-1", content_type: str = "application/json") -> dict[str, str]:
    return {
        "content-type": content_type,
        "x-github-event": "issues",
        "x-github-delivery": delivery,
        "x-hub-signature-256": "sha256=" + hmac.new(b"secret", body, hashlib.sha256).hexdigest(),
    }


async def _hook(app: App, owner: User, provider: GitProvider = GitProvider.GITHUB) -> UUID:
    hook_id = uuid4()
    async with app.database.session() as session:
        encrypted = app.state["cipher"].encrypt("secret")
        session.add(
            Trigger(
                id=hook_id,
                user_id=owner.id,
                provider=provider,
                origin="https://github.com",
                repository="octo/app",
                clone_url="https://github.com/octo/app.git",
                events=[],
                secret_encrypted=encrypted,
            )
        )
    return hook_id


async def _send(app: App, hook_id: UUID, body: bytes, headers: dict[str, str]) -> int:
    receiving: Receiving = app.state["receiving_deliveries"]
    return await receiving.receive(hook_id, headers, body)


async def _jobs(app: App) -> int:
    async with app.database.read() as session:
        return await session.scalar(select(func.count()).select_from(Job).where(Job.kind == KIND)) or 0


async def test_a_delivery_is_accepted_again_but_handled_once(app: App, owner: User) -> None:
    hook_id = await _hook(app, owner)
    assert [await _send(app, hook_id, _BODY, _headers(_BODY)) for _ in range(2)] == [202, 202]
    assert await _jobs(app) == 1


async def test_a_hundred_at_once_are_each_handled_once(app: App, owner: User) -> None:
    hook_id = await _hook(app, owner)
    names = [f"d-{number}" for number in range(50)] * 2
    await asyncio.gather(*(_send(app, hook_id, _BODY, _headers(_BODY, name)) for name in names))
    assert await _jobs(app) == 50


async def test_those_that_arrive_together_are_stored_together_and_a_wrong_one_harms_no_other(
    app: App, owner: User
) -> None:
    hook_id = await _hook(app, owner)
    names = [f"d-{number}" for number in range(30)]
    wrong = _headers(_BODY, "d-wrong") | {"x-hub-signature-256": "sha256=0"}
    commits: list[object] = []

    def count(connection: object) -> None:
        commits.append(connection)

    event.listen(Engine, "commit", count)
    try:
        outcomes = await asyncio.gather(
            *(_send(app, hook_id, _BODY, _headers(_BODY, name)) for name in names[:15]),
            _send(app, hook_id, _BODY, wrong),
            _send(app, uuid4(), _BODY, _headers(_BODY, "d-elsewhere")),
            *(_send(app, hook_id, _BODY, _headers(_BODY, name)) for name in names[15:]),
            return_exceptions=True,
        )
    finally:
        event.remove(Engine, "commit", count)
    assert [type(one) for one in outcomes if one != 202] == [NotAuthenticated, NotFound]
    assert await _jobs(app) == 30
    # Some commits are made by the worker, which has begun to handle the first deliveries.
    assert len(commits) < 15


async def test_a_deleted_trigger_does_not_affect_other_triggers(
    app: App, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted, kept = await _hook(app, owner), await _hook(app, owner)
    store = Receiving._store

    async def after_a_deletion(receiving: Receiving, genuine: Any) -> None:
        async with app.database.session() as session:
            await session.execute(delete(Trigger).where(Trigger.id == deleted))
        await store(receiving, genuine)

    monkeypatch.setattr(Receiving, "_store", after_a_deletion)
    found, refused = await asyncio.gather(
        *(_send(app, hook_id, _BODY, _headers(_BODY)) for hook_id in (kept, deleted)), return_exceptions=True
    )
    assert found == 202
    assert isinstance(refused, NotFound)
    assert await _jobs(app) == 1


async def test_what_is_not_signed_or_not_json_is_refused(app: App, owner: User) -> None:
    hook_id = await _hook(app, owner)
    for body in (_BODY.replace(b"mona", b"nona"), b""):
        with pytest.raises(NotAuthenticated, match="signature"):
            await _send(app, hook_id, body, _headers(_BODY))
    with pytest.raises(BadRequest):
        await _send(app, hook_id, _BODY, _headers(_BODY, content_type="text/plain"))
    with pytest.raises(NotFound):
        await _send(app, uuid4(), _BODY, _headers(_BODY))
    assert await _jobs(app) == 0


async def test_the_unsigned_ping_is_answered(app: App, owner: User) -> None:
    hook_id = await _hook(app, owner, GitProvider.BITBUCKET_DATA_CENTER)
    assert await _send(app, hook_id, b"{}", {"x-event-key": "diagnostics:ping"}) == 200
    assert await _jobs(app) == 0
