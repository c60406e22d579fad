"""Sends invented requests to each operation of the app server, as each role, and checks the answers.

Each operation is called at least once. Then the operations are called in turn until the time is over.
SLIPWAY_FUZZ_SECONDS=600 sets the time to 600 seconds, and the requests are then different in each run.
"""

import asyncio
import time
from uuid import UUID

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.schemas import APIOperation

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.users.models import User
from tests.app_server.access.inventing import (
    MORE_SECONDS,
    PATIENCE_SECONDS,
    Tried,
    identities_of,
    name_of,
    operations_to_try,
)
from tests.app_server.conftest import App, listening

SECONDS = float(MORE_SECONDS or 20)
KNOWN_CONVERSATION = UUID(int=7)


def _send(case: schemathesis.Case, base_url: str, tried: Tried) -> None:
    """Sends the request `case` once for each role of `tried.identities`, and checks each answer."""
    name = name_of(case)
    tried.operations[name] += 1
    # Requests about a conversation name an existing one as often as an unknown one.
    if tried.operations[name] % 2 and "conversation_id" in (case.path_parameters or {}):
        case.path_parameters["conversation_id"] = str(KNOWN_CONVERSATION)
    for identity, headers in tried.identities.items():
        try:
            reply = case.call(base_url, session=tried.session, headers=headers, timeout=PATIENCE_SECONDS)
        except requests.RequestException as failure:
            tried.fail(case, identity, failure)
        else:
            tried.judge(case, reply, identity)


def _try_once(operation: APIOperation, base_url: str, tried: Tried, turn: int) -> None:
    @hypothesis.seed(turn if not MORE_SECONDS else time.monotonic_ns())
    @settings(
        max_examples=1,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: schemathesis.Case) -> None:
        _send(case, base_url, tried)

    send()


def _try_all(operations: list[APIOperation], base_url: str, tried: Tried) -> None:
    end = time.monotonic() + SECONDS
    turn = 0
    while turn == 0 or time.monotonic() < end:
        for operation in operations:
            if turn > 0 and time.monotonic() >= end:
                break
            _try_once(operation, base_url, tried, turn)
        turn += 1


async def _know_conversation(app: App, owner: User) -> None:
    id_ = KNOWN_CONVERSATION
    async with app.database.session() as session:
        session.add(Conversation(id=id_, user_id=owner.id, llm_profile="demo", last_seq=0, title="Known"))
        await session.flush()
        ready = StartStatus.READY
        session.add(StartTask(id=id_, user_id=owner.id, sandbox_id=id_, status=ready, request={}, stages=[]))


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_every_operation_answers_every_role_as_it_documents(app: App, owner: User) -> None:
    # Requests may create conversations, but without this worker none of them starts.
    await app.state["start_worker"].close()
    operations = [result.ok() for result in operations_to_try().get_all_operations()]
    tried = Tried(await identities_of(app, owner))
    await _know_conversation(app, owner)
    async with listening(app.public) as url:
        with tried.session:
            await asyncio.to_thread(_try_all, operations, url, tried)
        headers = tried.identities["owner"]
        health = await asyncio.to_thread(requests.get, f"{url}/api/v1/users/me", headers=headers, timeout=20)

    assert tried.failures == {}
    assert {*tried.operations} == {f"{each.method.upper()} {each.path}" for each in operations}
    assert health.status_code == 200, "the owner can still sign in"
