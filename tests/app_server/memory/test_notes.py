"""Tests of agents' notes: they are proposed in events, the user accepts or changes them, and their text is
not trusted.
"""

import asyncio
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.models import Conversation
from app_server.git.address import parse_address
from app_server.memory.schemas import MAX_TEXT_BYTES
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

ROUTE = "/api/v1/memory"
PROPOSALS = "/api/v1/memory-proposals"
REPOSITORY = "https://example.org/team/harbour.git"
TESTS = {"command": "create", "name": "tests", "title": "Running the tests", "text": "make check"}


class Reporter:
    """A conversation. The test acts as its sandbox and reports the agent's notes."""

    def __init__(self, inner: httpx.AsyncClient, conversation_id: UUID, key: str) -> None:
        self.id = conversation_id
        self._inner, self._headers = inner, {"X-Session-API-Key": key}
        self._seq = count(1)
        self.last_frames: list[dict[str, Any]] = []

    async def note(self, data: Any, *, is_error: bool = False, **fields: Any) -> None:
        call_id = uuid4().hex
        action = {"action": {"data": data, "kind": "MCPToolAction"}, **fields}
        result = {"action_id": call_id, "observation": {"is_error": is_error, "content": []}, **fields}
        self.last_frames = [
            self._frame(call_id, "ActionEvent", action),
            self._frame(uuid4().hex, "ObservationEvent", result),
        ]
        await self.report()

    async def report(self) -> None:
        """Reports the last call again, as a sandbox does that got no answer."""
        for frame in self.last_frames:
            reply = await self._inner.post(
                f"/api/v1/webhooks/events/{self.id}", json={"frames": [frame]}, headers=self._headers
            )
            assert reply.is_success, reply.text

    def _frame(self, event_id: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        event = {
            "id": event_id,
            "kind": kind,
            "source": "agent",
            "timestamp": "2026-11-21T01:00:00.000000",
            "tool_name": "memory_write",
            **fields,
        }
        return {"type": "durable", "seq": next(self._seq), "event": event}


class Reporters:
    def __init__(self, app: App, inner: httpx.AsyncClient, owner: User) -> None:
        self._app, self._inner, self._owner = app, inner, owner

    async def make(self, repository: str | None = REPOSITORY, user: User | None = None) -> Reporter:
        conversation_id, key = uuid4(), uuid4().hex
        user_id = (user or self._owner).id
        async with self._app.database.session() as session:
            session.add(
                Conversation(
                    id=conversation_id, user_id=user_id, selected_repository=repository, llm_profile="demo"
                )
            )
            sandbox = Sandbox(
                id=conversation_id,
                user_id=user_id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash(key),
                encrypted_session_key="",
                spec_id="process",
            )
            session.add(sandbox)
        return Reporter(self._inner, conversation_id, key)


@pytest.fixture
def reporters(app: App, inner: httpx.AsyncClient, owner: User) -> Reporters:
    return Reporters(app, inner, owner)


async def proposals(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(PROPOSALS)).json()
    return found


async def notes(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Accepts all proposed notes. Returns all notes of the user, with their texts."""
    for proposal in await proposals(client):
        assert (await client.post(f"{PROPOSALS}/{proposal['id']}/accept")).status_code == 204
    assert await proposals(client) == []
    listed = (await client.get(ROUTE)).json()
    return [(await client.get(f"{ROUTE}/{note['id']}")).json() for note in listed]


async def test_what_an_agent_notes_is_kept_by_repository(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    reporter = await reporters.make()

    await reporter.note(TESTS)

    (note,) = await notes(client)
    assert note["repository"] == "example.org/team/harbour"
    assert (note["name"], note["title"], note["text"]) == ("tests", "Running the tests", "make check")
    assert note["conversation_id"] == reporter.id.hex
    (listed,) = (await client.get(ROUTE)).json()
    assert "text" not in listed


async def test_a_report_that_comes_twice_counts_once(client: httpx.AsyncClient, reporters: Reporters) -> None:
    first, second = await reporters.make(), await reporters.make()
    await first.note(TESTS)
    await second.note({"command": "update", "name": "tests", "text": "make test"})

    await first.report()

    (note,) = await notes(client)
    assert (note["title"], note["text"]) == ("Running the tests", "make test")


async def test_the_last_one_wins_and_other_notes_stay(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    first, second = await reporters.make(), await reporters.make()
    await first.note(TESTS)
    await first.note({**TESTS, "name": "other"})
    await second.note({**TESTS, "text": "make test"})
    await second.note({"command": "delete", "name": "gone-already"})

    assert {note["name"]: note["text"] for note in await notes(client)} == {
        "tests": "make test",
        "other": "make check",
    }


async def test_conversations_that_note_at_the_same_time_lose_nothing(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    several = [await reporters.make() for _ in range(6)]

    async def work(reporter: Reporter, number: int) -> None:
        await reporter.note({**TESTS, "text": f"way {number}"})
        await reporter.note({**TESTS, "name": f"own-{number}"})

    await asyncio.gather(*(work(reporter, number) for number, reporter in enumerate(several)))

    found = {note["name"]: note["text"] for note in await notes(client)}
    assert found.pop("tests") in {f"way {number}" for number in range(6)}
    assert set(found) == {f"own-{number}" for number in range(6)}


async def test_a_deleted_note_is_gone(client: httpx.AsyncClient, reporters: Reporters) -> None:
    reporter = await reporters.make()
    await reporter.note(TESTS)

    await reporter.note({"command": "delete", "name": "tests"})

    assert await notes(client) == []


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {**TESTS, "name": "../../etc/passwd"},
        {**TESTS, "name": "tests\n"},
        {**TESTS, "name": "x" * 65},
        {**TESTS, "title": "x" * 121},
        {**TESTS, "title": "\u0000"},
        {**TESTS, "text": "x" * (MAX_TEXT_BYTES + 1)},
        {**TESTS, "text": "ü" * (MAX_TEXT_BYTES // 2 + 1)},
        {**TESTS, "text": "a\u0000b"},
        {**TESTS, "text": " "},
        {**TESTS, "text": ["x"]},
        {**TESTS, "command": "drop"},
        {"command": "create", "name": "tests", "title": "No text"},
    ],
)
async def test_what_no_note_may_be_is_not_kept_and_stops_nothing(
    client: httpx.AsyncClient, reporters: Reporters, data: Any
) -> None:
    reporter = await reporters.make()

    await reporter.note(data)

    await reporter.note({**TESTS, "name": "next"})
    assert [note["name"] for note in await notes(client)] == ["next"]


async def test_a_call_that_failed_or_is_another_tools_is_not_kept(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    reporter = await reporters.make()

    await reporter.note(TESTS, is_error=True)
    await reporter.note(TESTS, tool_name="something_else")
    await reporter.note(TESTS, action_id="no-such-call")

    assert await notes(client) == []


async def test_without_a_repository_there_are_no_notes(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    reporter = await reporters.make(repository=None)

    await reporter.note(TESTS)

    assert await notes(client) == []


async def test_the_user_mends_a_note(client: httpx.AsyncClient, reporters: Reporters) -> None:
    await (await reporters.make()).note(TESTS)
    (note,) = await notes(client)

    changed = (await client.patch(f"{ROUTE}/{note['id']}", json={"text": " make all "})).json()

    assert (changed["title"], changed["text"]) == ("Running the tests", "make all")
    assert changed["updated_at"] > note["updated_at"]
    assert await notes(client) == [changed]
    too_long = await client.patch(f"{ROUTE}/{note['id']}", json={"text": "x" * (MAX_TEXT_BYTES + 1)})
    assert_problem(too_long, 422, "validation_failed")


async def test_the_user_deletes_a_note_and_an_agent_may_make_it_anew(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    reporter = await reporters.make()
    await reporter.note(TESTS)
    (note,) = await notes(client)

    assert (await client.delete(f"{ROUTE}/{note['id']}")).status_code == 204

    assert await notes(client) == []
    assert_problem(await client.get(f"{ROUTE}/{note['id']}"), 404, "not_found")
    await reporter.note({"command": "update", "name": "tests", "text": "make test"})
    assert [(note["title"], note["text"]) for note in await notes(client)] == [("tests", "make test")]


async def test_users_do_not_see_the_notes_of_other_users(
    app: App, client: httpx.AsyncClient, reporters: Reporters
) -> None:
    await (await reporters.make()).note(TESTS)
    (note,) = await notes(client)
    async with app.database.session() as session:
        other = await create_user(session, name="Other", role=Role.ADMIN)
        _, key = await create_api_key(session, other, name="tests")
    await (await reporters.make(user=other)).note({**TESTS, "text": "theirs"})

    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as theirs:
        assert [one["text"] for one in await notes(theirs)] == ["theirs"]
        for reply in (
            await theirs.get(f"{ROUTE}/{note['id']}"),
            await theirs.patch(f"{ROUTE}/{note['id']}", json={"text": "x"}),
            await theirs.delete(f"{ROUTE}/{note['id']}"),
        ):
            assert_problem(reply, 404, "not_found")
    assert [one["text"] for one in await notes(client)] == ["make check"]


@pytest.mark.parametrize(
    ("repository", "identity"),
    [
        ("team/harbour", "github.com/team/harbour"),
        ("https://GitHub.com/team/harbour.git", "github.com/team/harbour"),
        ("https://me:secret@github.com/team/harbour/", "github.com/team/harbour"),
        ("git@github.com:team/harbour.git", "github.com/team/harbour"),
        ("ssh://git@github.com:22/team/harbour", "github.com:22/team/harbour"),
        ("/srv/git/harbour/.git", "/srv/git/harbour"),
    ],
)
def test_a_repository_is_the_same_however_it_is_named(repository: str, identity: str) -> None:
    assert parse_address(repository).identity == identity


async def test_a_proposal_says_what_it_would_change(client: httpx.AsyncClient, reporters: Reporters) -> None:
    reporter = await reporters.make()
    await reporter.note(TESTS)
    (new,) = await proposals(client)
    assert (new["kind"], new["repository"], new["text"]) == ("new", "example.org/team/harbour", "make check")
    assert new["conversation_id"] == reporter.id.hex
    assert len(await notes(client)) == 1

    await reporter.note({"command": "update", "name": "tests", "text": "make test"})
    (change,) = await proposals(client)
    assert (change["kind"], change["title"], change["text"]) == ("change", "Running the tests", "make test")

    await reporter.note({"command": "delete", "name": "tests"})
    (deletion,) = await proposals(client)
    assert (deletion["kind"], deletion["title"], deletion["text"]) == ("deletion", "Running the tests", None)

    await reporter.note(TESTS)
    assert await proposals(client) == [], "the note is so already"


async def test_a_rejected_proposal_leaves_the_note_as_it_is(
    client: httpx.AsyncClient, reporters: Reporters
) -> None:
    reporter = await reporters.make()
    await reporter.note(TESTS)
    before = await notes(client)
    for written in ({**TESTS, "text": "make test"}, {"command": "delete", "name": "tests"}):
        await reporter.note(written)
        (proposal,) = await proposals(client)
        assert (await client.post(f"{PROPOSALS}/{proposal['id']}/reject")).status_code == 204
        again = await client.post(f"{PROPOSALS}/{proposal['id']}/accept")
        assert_problem(again, 404, "memory_proposal_not_found")
        assert await notes(client) == before
