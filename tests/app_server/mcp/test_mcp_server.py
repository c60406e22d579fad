"""Tests of the MCP server with a real MCP client, API keys, two users, and an agent server that the tests
replace.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import SecretStr
from sqlalchemy import select

from app_server.access.permissions import Permission
from app_server.audit.models import AuditEntry
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.lifespan import lifespan
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.main import WithState
from app_server.mcp_broker.own_server import own_server_url
from app_server.memory.models import MemoryProposal
from app_server.sandbox_records.models import SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, listening
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_keys import Keys
from tests.app_server.teams.test_team_repositories import own
from tests.app_server.teams.test_teams import new_team
from tests.support.apps import inner_app, public_app
from tests.support.search_service import SearchService, search_service

TAVILY_KEY = "canary-tavily-51f0"
READING = {
    "list_conversations",
    "get_conversation_status",
    "list_changed_files",
    "get_patch",
    "read_messages",
    "list_pull_requests",
    "list_memory_notes",
    "get_memory_note",
}
WORKING = {
    "create_pull_request",
    "start_conversation",
    "send_message",
    "answer_confirmation",
    "pause_conversation",
    "stop_conversation",
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}

Connect = Callable[[str], AbstractAsyncContextManager[Client]]


@pytest.fixture
async def connect(app: App) -> AsyncIterator[Connect]:
    """Yields a function that connects an MCP client with an API key."""
    await app.state["start_worker"].close()
    async with listening(app.public) as url:

        @asynccontextmanager
        async def connected(key: str) -> AsyncIterator[Client]:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as mcp,
            ):
                yield mcp

        yield connected


async def key_for(app: App, user: User, *scopes: Permission) -> str:
    async with app.database.session() as session:
        _, key = await create_api_key(session, user, name="mcp", scopes=[*scopes] or None)
    return key


async def member(app: App) -> User:
    async with app.database.session() as session:
        return await create_user(session, name="Grace", role=Role.MEMBER)


async def call(mcp: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await mcp.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    content: dict[str, Any] = result.structured_content
    return content


async def refused(mcp: Client, name: str, /, **arguments: Any) -> str:
    result = await mcp.call_tool(name, arguments)
    assert result.is_error
    text: str = result.content[0].text
    return text


async def conversation_of(app: App, user: User, *, status: StartStatus = StartStatus.READY) -> UUID:
    """Stores a conversation of the user whose agent waits for a confirmation of an action. Returns its id."""
    id_ = uuid4()
    events = [
        {
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"content": [{"type": "text", "text": "Go"}]},
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "tool_name": "terminal",
            "summary": "Delete the cache",
            "security_risk": "HIGH",
            "action": {"command": "rm -r cache"},
        },
    ]
    async with app.database.session() as session:
        row = Conversation(
            id=id_,
            user_id=user.id,
            sandbox_id=id_,
            llm_profile="demo",
            title=f"Work of {user.name}",
            selected_repository="https://github.com/harbour/crane",
            execution_status="waiting_for_confirmation",
            last_seq=len(events),
        )
        session.add(row)
        session.add(StartTask(id=id_, user_id=user.id, status=status, request={}, stages=new_stages()))
        frames = [
            DurableFrame(
                type="durable",
                seq=seq,
                event={"id": f"{id_.hex}-{seq}", "timestamp": f"2026-11-26T10:00:0{seq}", **event},
            )
            for seq, event in enumerate(events, start=1)
        ]
        await session.flush()
        await log.append(session, id_, frames)
    return id_


async def test_tools_say_what_they_do_and_keys_see_those_they_may_use(
    app: App, owner: User, connect: Connect
) -> None:
    async with connect(await key_for(app, owner)) as mcp:
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
    assert set(tools) == READING | WORKING | {"propose_memory_note"}
    for name, tool in tools.items():
        assert all((tool.title, tool.description, tool.output_schema)), name
        assert tool.annotations.read_only_hint is (name in READING), name
    destructive = {name for name, tool in tools.items() if tool.annotations.destructive_hint}
    assert destructive == {"answer_confirmation", "stop_conversation"}
    async with connect(await key_for(app, owner, Permission.READ)) as mcp:
        assert {tool.name for tool in (await mcp.list_tools()).tools} == READING
        text = await refused(mcp, "start_conversation", task="Go")
        assert "start_conversation" in text


async def test_a_program_starts_a_conversation_finds_it_and_writes_to_it(
    app: App, client: httpx.AsyncClient, owner: User, connect: Connect
) -> None:
    async with connect(await key_for(app, owner)) as mcp:
        (await client.post("/api/v1/settings", json={"submodules": False})).raise_for_status()
        started = await call(mcp, "start_conversation", task="Count the cranes", title="Cranes")
        id_ = started["conversation_id"]
        async with app.database.read() as session:
            task = await session.get_one(StartTask, UUID(id_))
        assert task.request["submodules"] is False, "the settings say what is fetched"
        assert started["url"].endswith(f"/conversations/{UUID(id_).hex}")
        found = await call(mcp, "list_conversations", title_contains="crane")
        assert [one["conversation_id"] for one in found["conversations"]] == [id_]
        status = await call(mcp, "get_conversation_status", conversation_id=id_)
        assert (status["needs"], status["start_status"]) == ("wait", "WORKING")
        sent = await call(mcp, "send_message", conversation_id=id_, text="And the ships")
        assert sent["is_queued"]
        assert "sandbox_not_running" in await refused(mcp, "get_patch", conversation_id=id_)
        unknown = await refused(mcp, "start_conversation", task="Go", profile="none-such")
        assert "llm_profile_not_found" in unknown
        team = await new_team(client, "Core")
        (await own(client, team, "github.com/acme/shop", members_only=True)).raise_for_status()
        closed = await refused(mcp, "start_conversation", task="Go", repository="acme/shop")
        assert "belongs to the team 'Core'" in closed
        assert "repository_of_team" in closed


async def test_each_tool_of_a_conversation_is_not_found_for_another_user(
    app: App, owner: User, connect: Connect
) -> None:
    id_ = str(await conversation_of(app, owner))
    async with connect(await key_for(app, await member(app))) as mcp:
        assert (await call(mcp, "list_conversations"))["conversations"] == []
        for name, more in (
            ("get_conversation_status", {}),
            ("send_message", {"text": "Hello"}),
            ("answer_confirmation", {"approve": True, "action_ids": ["1"]}),
            ("list_changed_files", {}),
            ("get_patch", {}),
            ("read_messages", {}),
            ("pause_conversation", {}),
            ("stop_conversation", {}),
            ("propose_memory_note", {"name": "a", "title": "A", "text": "B"}),
        ):
            text = await refused(mcp, name, conversation_id=id_, **more)
            assert "(code: not_found)" in text, (name, text)
        assert "(code: not_found)" in await refused(mcp, "get_memory_note", note_id=str(uuid4()))


async def test_two_users_at_once_each_see_their_own(app: App, owner: User, connect: Connect) -> None:
    stranger = await member(app)
    mine, theirs = await conversation_of(app, owner), await conversation_of(app, stranger)
    async with connect(await key_for(app, owner)) as one, connect(await key_for(app, stranger)) as other:
        for _ in range(3):
            for mcp, id_ in ((one, mine), (other, theirs)):
                found = await call(mcp, "list_conversations")
                assert [each["conversation_id"] for each in found["conversations"]] == [id_.hex]


async def test_the_status_says_what_a_conversation_needs(
    app: App, owner: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = await conversation_of(app, owner)
    async with app.database.session() as session:
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=id_, user_id=owner.id)
        sandbox.status = SandboxStatus.RUNNING
    monkeypatch.setattr(app.state["sandboxes"], "client", lambda sandbox_id: object())
    limit = {
        "kind": "ConversationErrorEvent",
        "source": "environment",
        "code": "MaxBudgetReached",
        "detail": "Paused: $2 are spent.",
        "classification": {"kind": "quota", "retryable": True, "user_action": "settings"},
    }
    async with connect(await key_for(app, owner)) as mcp:
        status = await call(mcp, "get_conversation_status", conversation_id=str(id_))
        assert status["needs"] == "confirmation"
        (action,) = status["waiting_actions"]
        assert (action["action_id"], action["summary"]) == (f"{id_.hex}-2", "Delete the cache")
        assert (action["risk"], "rm -r cache" in action["arguments"]) == ("HIGH", True)
        async with app.database.session() as session:
            event = {"id": f"{id_.hex}-3", "timestamp": "2026-11-26T10:00:03", **limit}
            await log.append(session, id_, [DurableFrame(type="durable", seq=3, event=event)])
            (await session.get_one(Conversation, id_)).execution_status = "paused"
        status = await call(mcp, "get_conversation_status", conversation_id=str(id_))
        assert (status["needs"], status["problem_code"]) == ("budget", "MaxBudgetReached")
        async with app.database.session() as session:
            (await session.get_one(Conversation, id_)).execution_status = "running"
        status = await call(mcp, "get_conversation_status", conversation_id=str(id_))
        assert (status["needs"], status["problem"]) == ("nothing", None)


async def test_messages_are_read_and_a_note_is_proposed(app: App, owner: User, connect: Connect) -> None:
    id_ = await conversation_of(app, owner)
    note = {"name": "cranes", "title": "Cranes", "text": "They are yellow."}
    async with connect(await key_for(app, owner)) as mcp:
        read = await call(mcp, "read_messages", conversation_id=str(id_))
        assert [(one["sender"], one["text"]) for one in read["messages"]] == [("user", "Go")]
        await call(mcp, "propose_memory_note", conversation_id=str(id_), **note)
        assert (await call(mcp, "list_memory_notes"))["notes"] == []
    async with app.database.session() as session:
        proposal = (await session.scalars(select(MemoryProposal))).one()
        assert (proposal.repository, proposal.text) == ("github.com/harbour/crane", "They are yellow.")


async def test_only_a_key_opens_it_and_no_foreign_page_or_name(
    app: App, owner: User, client: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    assert_problem(await anonymous.post("/mcp", json=INITIALIZE, headers=ACCEPT), 401, "not_authenticated")
    reply = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert reply.status_code == 200
    assert reply.json()["result"]["serverInfo"]["name"] == "Slipway"
    key = await key_for(app, owner)
    by_other_header = await anonymous.post(
        "/mcp", json=INITIALIZE, headers={**ACCEPT, "X-Session-API-Key": key}
    )
    assert by_other_header.status_code == 200
    evil = {**ACCEPT, "Origin": "http://evil.example.com"}
    assert_problem(await client.post("/mcp", json=INITIALIZE, headers=evil), 403, "origin_not_allowed")
    rebound = {**ACCEPT, "Host": "evil.example.com"}
    assert_problem(await client.post("/mcp", json=INITIALIZE, headers=rebound), 421, "host_not_allowed")
    assert (await client.get("/mcp", headers=ACCEPT)).status_code == 405


class TestWithSearch:
    @pytest.fixture
    def tavily(self) -> Iterator[SearchService]:
        with search_service() as service:
            yield service

    @pytest.fixture
    async def app(self, config: Config, tavily: SearchService) -> AsyncIterator[App]:
        searching = config.model_copy(
            update={"tavily_api_key": SecretStr(TAVILY_KEY), "tavily_url": tavily.url}
        )
        async with lifespan(searching) as opened:
            state = vars(opened)
            public, inner = public_app(searching), inner_app(searching)
            yield App(searching, state, WithState(public, state), WithState(inner, state))

    async def test_a_program_searches_the_web_with_a_key_that_stays_here(
        self, app: App, owner: User, connect: Connect, tavily: SearchService
    ) -> None:
        async with connect(await key_for(app, owner)) as mcp:
            found = await call(mcp, "web_search", query="cranes", max_results=3)
            assert found["results"] == [{"title": "Cranes", "url": "https://example.org", "content": "tall"}]
            assert tavily.seen == [(f"Bearer {TAVILY_KEY}", {"query": "cranes", "max_results": 3})]
            tavily.status = 429
            assert "web_search_limit" in await refused(mcp, "web_search", query="cranes")
            tavily.status = 401
            text = await refused(mcp, "web_search", query="cranes")
            assert "web_search_failed" in text
            assert TAVILY_KEY not in text

    async def test_the_agent_of_a_conversation_has_it_and_nothing_of_users(
        self, app: App, owner: User, keys: Keys, tavily: SearchService
    ) -> None:
        async with app.database.read() as session:
            mine = await session.scalar(select(Conversation.id).where(Conversation.user_id == owner.id))
            theirs = await session.scalar(select(Conversation.id).where(Conversation.user_id != owner.id))
        cipher = app.state["cipher"]
        async with listening(app.inner) as url:
            own = own_server_url(url, mine, proof_of(cipher, mine))
            async with (
                create_mcp_http_client(headers=keys.own) as http,
                Client(streamable_http_client(own, http_client=http)) as mcp,
            ):
                assert [tool.name for tool in (await mcp.list_tools()).tools] == ["web_search"]
                assert (await call(mcp, "web_search", query="cranes"))["results"]
            async with httpx.AsyncClient() as plain:

                async def post(address: str, headers: dict[str, str]) -> httpx.Response:
                    return await plain.post(address, json=INITIALIZE, headers={**ACCEPT, **headers})

                foreign = own_server_url(url, theirs, proof_of(cipher, theirs))
                assert_problem(await post(foreign, keys.own), 404, "not_found")
                assert_problem(await post(own, keys.foreign), 404, "not_found")
                assert_problem(await post(own_server_url(url, mine, "0" * 32), keys.own), 404, "not_found")
                assert_problem(await post(own, {}), 401, "not_authenticated")


async def test_an_answer_to_a_confirmation_is_audited_with_the_key(
    app: App, owner: User, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = await conversation_of(app, owner)
    answers: list[Any] = []

    class Agent:
        async def respond_to_confirmation(self, conversation_id: UUID, answer: Any) -> None:
            answers.append(answer)

    # `Agent` replaces the agent server. The tests of conversations check what a real one does with the
    # answer.
    monkeypatch.setattr(app.state["sandboxes"], "client", lambda sandbox_id: Agent())
    async with connect(await key_for(app, owner)) as mcp:
        ids = [f"{id_.hex}-2"]
        await call(
            mcp, "answer_confirmation", conversation_id=str(id_), approve=False, action_ids=ids, reason="No"
        )
    assert [(one.accept, one.action_ids, one.reason) for one in answers] == [(False, ids, "No")]
    async with app.database.read() as session:
        query = select(AuditEntry).where(AuditEntry.action == "agent_action.refused")
        entry = (await session.scalars(query)).one()
    assert (entry.means, entry.target_id) == ("key", id_.hex)
