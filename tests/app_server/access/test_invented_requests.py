"""Invented requests to each operation of the app server, by each role.

No answer is a server error. Each success has a documented status. Each body matches its documented schema.
All operations document their errors together, as `default`, so each status of 400 to 499 is documented.

The operations take turns until the time is over, at least once each. SLIPWAY_FUZZ_SECONDS=600 gives them more
time, and new requests.
"""

import asyncio
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import hypothesis
import orjson
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, listening

DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi" / "app_server.json"
MORE_SECONDS = os.environ.get("SLIPWAY_FUZZ_SECONDS")
SECONDS = float(MORE_SECONDS or 30)
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
PATIENCE_SECONDS = 20
OTHER_SERVER_FAILED = {502, 503, 504}
"""A git host, a model, a registry or a sandbox that is not there."""
NOT_TRIED = {
    "GET /api/v1/users/me/stream": "it never ends",
    "POST /api/v1/app-conversations/stream-start": "it ends with the start, and no worker is here",
    "POST /api/v1/sandboxes": "each would start a real sandbox",
}


@schemathesis.serializer("application/zip")
def _as_it_is(_context: Any, value: bytes) -> bytes:
    return value


@dataclass
class Tried:
    """What was sent, and what was wrong with the answers."""

    base_url: str
    identities: dict[str, dict[str, str]]
    conversation_id: UUID
    operations: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: dict[str, str] = field(default_factory=dict)
    session: requests.Session = field(default_factory=requests.Session)

    def send(self, case: schemathesis.Case) -> None:
        """Sends the same request as each identity."""
        name = f"{case.operation.method.upper()} {case.operation.path}"
        self.operations[name] += 1
        # What exists is tried as often as what does not.
        if self.operations[name] % 2 and "conversation_id" in (case.path_parameters or {}):
            case.path_parameters["conversation_id"] = str(self.conversation_id)
        for identity, headers in self.identities.items():
            try:
                reply = case.call(
                    self.base_url, session=self.session, headers=headers, timeout=PATIENCE_SECONDS
                )
                answered = {not_a_server_error} if reply.status_code in OTHER_SERVER_FAILED else set()
                case.validate_response(reply, checks=[each for each in CHECKS if each not in answered])
                documented = case.operation.definition.raw["responses"]
                if reply.status_code < 400 and str(reply.status_code) not in documented:
                    self.failures.setdefault(f"{name} as {identity}", f"answers {reply.status_code}")
            except (FailureGroup, Failure, requests.RequestException) as failure:
                self.failures.setdefault(f"{name} as {identity}", _told(failure))


def _told(failure: Exception) -> str:
    causes = failure.exceptions if isinstance(failure, FailureGroup) else (failure,)
    return " | ".join(str(cause)[:1500] for cause in causes)


def _try_once(operation: APIOperation, tried: Tried, turn: int) -> None:
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
        tried.send(case)

    send()


def _try_all(operations: list[APIOperation], tried: Tried) -> None:
    end = time.monotonic() + SECONDS
    turn = 0
    while turn == 0 or time.monotonic() < end:
        for operation in operations:
            if turn > 0 and time.monotonic() >= end:
                break
            _try_once(operation, tried, turn)
        turn += 1


async def _identities(app: App, owner: User) -> dict[str, dict[str, str]]:
    keys: dict[str, dict[str, str]] = {"unauthenticated": {}}
    async with app.database.session() as session:
        people = {"owner": owner}
        for role in (Role.MEMBER, Role.VIEWER):
            people[role.value] = await create_user(session, name=f"A {role}", role=role)
        for name, user in people.items():
            _, key = await create_api_key(session, user, name="invented requests")
            keys[name] = {"Authorization": f"Bearer {key}"}
    return keys


async def _conversation(app: App, owner: User) -> UUID:
    id_ = UUID(int=7)
    async with app.database.session() as session:
        session.add(Conversation(id=id_, user_id=owner.id, llm_profile="demo", last_seq=0, title="Known"))
        await session.flush()
        ready = StartStatus.READY
        session.add(StartTask(id=id_, user_id=owner.id, sandbox_id=id_, status=ready, request={}, stages=[]))
    return id_


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_every_operation_answers_every_role_as_it_documents(app: App, owner: User) -> None:
    # Conversations are created, and none is started.
    await app.state["start_worker"].close()
    document: dict[str, Any] = orjson.loads(DOCUMENT.read_bytes())
    schema = schemathesis.openapi.from_dict(document)
    operations = [
        found
        for result in schema.get_all_operations()
        if f"{(found := result.ok()).method.upper()} {found.path}" not in NOT_TRIED
    ]
    identities = await _identities(app, owner)
    async with listening(app.public) as url:
        tried = Tried(url, identities, await _conversation(app, owner))
        with tried.session:
            await asyncio.to_thread(_try_all, operations, tried)
        headers = identities["owner"]
        health = await asyncio.to_thread(requests.get, f"{url}/api/v1/users/me", headers=headers, timeout=20)

    assert tried.failures == {}
    assert {*tried.operations} == {f"{each.method.upper()} {each.path}" for each in operations}
    assert health.status_code == 200, "the owner can still sign in"
