"""Tests of forks: a fork has the dialogue and the files of the original conversation. It does not change
when the original is changed or deleted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, event, func, select

from app_server.conversations.log import bulk_append, copying
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.start.secrets import decrypt_secrets
from app_server.events.models import StoredEvent
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.app_server.conversations.test_archive_in_conversation import finished, send, with_profile
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM

EVENTS = "/api/v1/conversation/{}/events/search"
MESSAGES: dict[str, Any] = {"kind__eq": "MessageEvent", "limit": 100}


async def messages(home: Home, conversation_id: str) -> list[dict[str, Any]]:
    items = (await home.client.get(EVENTS.format(conversation_id), params=MESSAGES)).json()["items"]
    found: list[dict[str, Any]] = [item for item in items if item["source"] != "environment"]
    return found


def text(event: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in event["llm_message"]["content"])


async def fork(home: Home, conversation_id: str, **body: Any) -> dict[str, Any]:
    reply = await home.client.post(f"{ROOT}/{conversation_id}/fork", json=body)
    assert reply.status_code == 201, reply.text
    task = await home.ended(reply.json()["id"])
    assert task["status"] == "READY", task["error"]
    return task


async def test_a_fork_continues_without_its_original(
    home: Home, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    await with_profile(home, scripted_llm, repository)
    secrets = {"HARBOUR_TOKEN": "a-token-of-the-harbour"}
    begun = await home.ready(selected_repository=str(repository), llm_profile="small", secrets=secrets)
    original = begun["id"]
    await send(home, original, "Before.")
    await finished(home, original, 1)
    await home.shell(original, "echo mine > notes; git add notes; git commit -qm notes")
    policy = await home.client.post(f"{ROOT}/{original}/confirmation-mode", json={"mode": "always"})
    assert policy.status_code == 200, policy.text

    copy = (await fork(home, original, title="Another way"))["id"]

    assert [text(each) for each in await messages(home, copy)] == ["Before.", "Yes."]
    shown, before = await home.conversation(copy), await home.conversation(original)
    assert (shown["title"], shown["forked_from_conversation_id"]) == ("Another way", original)
    assert shown["parent_conversation_id"] is None
    assert shown["selected_repository"] == before["selected_repository"] == str(repository)
    assert shown["sandbox_id"] == copy != before["sandbox_id"]
    changes = (await home.client.get(f"{ROOT}/{copy}/git/changes")).json()
    assert [each["path"] for each in changes] == ["notes"], "the work began where the original's did"
    mode = (await home.client.get(f"{ROOT}/{copy}/confirmation-mode")).json()
    assert mode == {"mode": "always"}, "it does not ask less than its original"
    await assert_only_its_own_keys(home, copy, original)
    async with home.database.read() as session:
        values = decrypt_secrets(
            home.state["cipher"], (await session.get_one(StartTask, UUID(copy))).encrypted_secrets
        )
    assert {name: value.get_secret_value() for name, value in (values or {}).items()} == secrets

    assert (await home.client.delete(f"{ROOT}/{original}")).status_code == 200
    await eventually(lambda: _is_gone(home, original))
    await send(home, copy, "After.")
    await finished(home, copy, 1)

    request = scripted_llm.requests[-1]
    said = [str(each["content"]) for each in request.body["messages"] if each["role"] == "user"]
    assert "Before." in said[0]
    assert "copy of another one" in said[-2]
    assert "After." in said[-1]
    assert await home.shell(copy, "cat notes README.md") == "mine\nharbour"
    usage = (await home.conversation(copy))["metrics"]["accumulated_token_usage"]
    assert usage["prompt_tokens"] > 0, "its calls count for the fork"


async def assert_only_its_own_keys(home: Home, copy: str, original: str) -> None:
    client, cipher = home.state["sandboxes"].client(UUID(copy)), home.state["cipher"]
    info = str((await client.get_conversation(UUID(copy))).model_dump(mode="json"))
    assert proof_of(cipher, UUID(copy)) in info
    assert proof_of(cipher, UUID(original)) not in info
    assert original not in info
    assert not list((home.config.home / "archives" / original).glob("*")), "the copy of the files is gone"


async def test_a_fork_ends_at_the_event_that_is_named_and_is_hidden_until_its_log_is_complete(
    home: Home, scripted_llm: ScriptedLLM, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = (await with_profile(home, scripted_llm, repository))["id"]
    for turn in (1, 2):
        await send(home, original, f"Turn {turn}.")
        await finished(home, original, turn)
    (_, answer, *_) = await messages(home, original)

    monkeypatch.setattr(copying, "PER_TRANSACTION", 2)
    with _commits(home) as seen:
        copy = (await fork(home, original, from_event_id=answer["id"]))["id"]
    unknown = await home.client.post(f"{ROOT}/{original}/fork", json={"from_event_id": uuid4().hex})

    assert [text(each) for each in await messages(home, copy)] == ["Turn 1.", "Yes."]
    while_hidden = [count for is_visible, count in seen if not is_visible]
    assert {later - earlier for earlier, later in pairwise(while_hidden)} <= {0, 1, 2}
    assert max(while_hidden) == next(count for is_visible, count in seen if is_visible) > 2
    assert_problem(unknown, 404, "event_not_found")
    await home.client.delete(f"{ROOT}/{copy}")
    await eventually(lambda: _is_gone(home, copy))
    assert len(await messages(home, original)) == 4

    # The copy counts as interrupted at once, as after a killed server.
    monkeypatch.setattr(bulk_append, "_HIDDEN", timedelta(0))
    cut_off = await home.client.post(f"{ROOT}/{original}/fork", json={})
    assert_problem(cut_off, 503, "copy_cut_off")
    await eventually(lambda: _is_alone(home, original))
    assert (await home.client.get(f"/api/v1/sandboxes/{original}/snapshots")).json() == []
    assert not list((home.config.home / "archives").glob("*/*"))
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        assert_problem(await other.post(f"{ROOT}/{original}/fork", json={}), 404, "not_found")


@contextmanager
def _commits(home: Home) -> Iterator[list[tuple[bool, int]]]:
    """Yields a list that gets an entry for each fork at each commit to the database: whether the fork is
    visible, and how many events it has.
    """
    seen: list[tuple[bool, int]] = []
    events = select(func.count()).where(StoredEvent.conversation_id == Conversation.id).scalar_subquery()
    query = select(Conversation.deleted_at, events).where(
        Conversation.forked_from_conversation_id.is_not(None)
    )

    def note(connection: Connection) -> None:
        seen.extend((deleted_at is None, count) for deleted_at, count in connection.execute(query))

    event.listen(home.database.engine.sync_engine, "commit", note)
    try:
        yield seen
    finally:
        event.remove(home.database.engine.sync_engine, "commit", note)


async def _is_alone(home: Home, conversation_id: str) -> bool:
    async with home.database.read() as session:
        left = set(await session.scalars(select(Conversation.id)))
        machines = set(await session.scalars(select(Sandbox.id)))
    return left == machines == {UUID(conversation_id)}


async def _is_gone(home: Home, conversation_id: str) -> bool:
    async with home.database.read() as session:
        return await session.get(Conversation, UUID(conversation_id)) is None
