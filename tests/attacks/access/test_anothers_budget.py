"""Several conversations of one sandbox share a session key. Each of them must pay for its own model calls
only.
"""

from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.models import Conversation
from app_server.llm_gateway.conversation_proof import proof_of
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem

KEY = {"X-Session-API-Key": "session-key"}
ASK = {"model": "demo", "messages": [{"role": "user", "content": "Hello"}]}


async def conversations_of_one_sandbox(app: App, owner: User, count: int) -> list[UUID]:
    """Makes `count` conversations in one running sandbox and returns their ids. The sandbox was made for the
    first one.
    """
    ids = [uuid4() for _ in range(count)]
    async with app.database.session() as session:
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=ids[0], user_id=owner.id)
        assert isinstance(sandbox, Sandbox)
        sandbox.session_key_hash, sandbox.status = token_hash("session-key"), SandboxStatus.RUNNING
        for id_ in ids:
            session.add(
                Conversation(id=id_, user_id=owner.id, llm_profile="demo", last_seq=0, sandbox_id=sandbox.id)
            )
    return ids


@pytest.fixture
def ask(inner: httpx.AsyncClient):
    async def ask(place: str) -> httpx.Response:
        return await inner.post(f"/llm/demo{place}/v1/chat/completions", json=ASK, headers=KEY)

    return ask


async def test_a_conversation_cannot_let_another_one_pay(app: App, owner: User, ask) -> None:
    mine, other = await conversations_of_one_sandbox(app, owner, 2)
    proof = proof_of(app.state["cipher"], mine)
    assert (await ask(f"/conversations/{mine}/{proof}")).is_success
    for place in (
        f"/conversations/{other}/{proof}",
        f"/conversations/{other}/guess",
        f"/conversations/{other}/%C3%BC",
        f"/conversations/{other}",
        "",
    ):
        assert_problem(await ask(place), 403, "conversation_proof_missing")


async def test_a_conversation_that_is_alone_needs_no_proof(app: App, owner: User, ask) -> None:
    """The only conversation of its sandbox can call a model without a proof of its identity. So conversations
    that began before these proofs existed can go on.
    """
    [alone] = await conversations_of_one_sandbox(app, owner, 1)
    assert (await ask(f"/conversations/{alone}")).is_success
    assert (await ask("")).is_success


async def test_a_program_is_not_told_how_another_conversation_pays(
    app: App, owner: User, inner: httpx.AsyncClient
) -> None:
    first, _ = await conversations_of_one_sandbox(app, owner, 2)
    reply = await inner.get(f"/api/v1/sandboxes/{first}/settings/llm", headers=KEY)
    assert_problem(reply, 409, "sandbox_shared")
