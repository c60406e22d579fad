"""Tools of MCP servers that were approved in one conversation, as the next one is told of them."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.agent_request import build
from app_server.conversations.models import Conversation
from app_server.conversations.noted import repository_identity
from app_server.conversations.schemas import StartRequest
from app_server.mcp_approvals.service import MAX_TOOLS_BYTES, approvals_of
from app_server.sandboxes.models import Sandbox, SandboxStatus
from app_server.settings.models import LLMProfile
from app_server.users.models import Role, User
from app_server.users.service import create_user
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App

REPOSITORY = "https://example.org/team/harbour.git"
FORECAST = {"name": "forecast", "description": "Tells the weather.", "input_schema": {}, "annotations": {}}
APPROVED = {"weather": {"forecast": FORECAST}}


class Reports:
    """What the sandbox of a conversation says was approved."""

    def __init__(self, app: App, inner: httpx.AsyncClient, owner: User) -> None:
        self._app, self._inner, self._owner = app, inner, owner

    async def say(self, *values: Any, repository: str | None = REPOSITORY) -> None:
        conversation_id, key = uuid4(), uuid4().hex
        async with self._app.database.session() as session:
            session.add(
                Conversation(
                    id=conversation_id,
                    user_id=self._owner.id,
                    llm_profile="demo",
                    selected_repository=repository,
                    last_seq=0,
                )
            )
            sandbox = await self._app.state["sandboxes"].create(
                session, sandbox_id=conversation_id, user_id=self._owner.id
            )
            assert isinstance(sandbox, Sandbox)
            sandbox.session_key_hash, sandbox.status = token_hash(key), SandboxStatus.RUNNING
        frames = [_frame(seq, value) for seq, value in enumerate(values, start=1)]
        reply = await self._inner.post(
            f"/api/v1/webhooks/events/{conversation_id}",
            json={"frames": frames},
            headers={"X-Session-API-Key": key},
        )
        assert reply.is_success, reply.text

    async def known(self, user_id: UUID | None = None, repository: str | None = REPOSITORY) -> dict[str, Any]:
        async with self._app.database.read() as session:
            identity = repository_identity(repository, None)
            return await approvals_of(session, user_id or self._owner.id, identity)


def _frame(seq: int, value: Any) -> dict[str, Any]:
    event = {
        "id": uuid4().hex,
        "kind": "ConversationStateUpdateEvent",
        "source": "environment",
        "timestamp": "2026-11-22T01:00:00.000000",
        "key": "agent_state",
        "value": value,
    }
    return {"type": "durable", "seq": seq, "event": event}


@pytest.fixture
def reports(app: App, inner: httpx.AsyncClient, owner: User) -> Reports:
    return Reports(app, inner, owner)


async def test_the_next_conversation_about_the_repository_is_told(reports: Reports) -> None:
    await reports.say({"mcp_servers": {}}, {"mcp_approved": APPROVED}, {"mcp_changes": {}})

    approved = await reports.known()

    assert approved == APPROVED
    assert await reports.known(repository="https://example.org/team/other") == {}
    request = build(
        StartRequest(),
        conversation_id=uuid4(),
        sandbox_id=uuid4(),
        profile=LLMProfile(name="p", model="m"),
        inner_url="http://inner",
        working_dir="/w",
        mcp_approved=approved,
    )
    assert request.mcp_approved == APPROVED


async def test_the_last_word_of_a_server_counts_and_other_servers_stay(reports: Reports) -> None:
    await reports.say({"mcp_approved": APPROVED})
    tides = {"tides": {**FORECAST, "name": "tides"}}
    both = {"weather": tides, "sea": tides}
    await reports.say({"mcp_approved": {"weather": tides}}, {"mcp_approved": both})

    assert await reports.known() == both
    await reports.say({"mcp_approved": APPROVED}, repository=None)
    assert await reports.known(repository=None) == APPROVED
    assert await reports.known() == both


async def test_what_no_approval_can_be_is_not_kept(reports: Reports) -> None:
    much = {"forecast": {**FORECAST, "description": "x" * MAX_TOOLS_BYTES}}
    await reports.say({"mcp_approved": {"weather": much, "list": [], "n" * 500: {}}})
    await reports.say({"mcp_approved": {f"server-{number}": {} for number in range(150)}})

    known = await reports.known()

    assert len(known) == 100
    assert all(name.startswith("server-") for name in known)


async def test_nobody_is_bound_by_what_others_have_approved(app: App, reports: Reports) -> None:
    async with app.database.session() as session:
        other = await create_user(session, name="Somebody", role=Role.MEMBER)
    await reports.say({"mcp_approved": APPROVED})

    assert await reports.known(other.id) == {}
