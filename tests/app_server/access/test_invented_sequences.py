"""Sends invented sequences of requests as each role: a later request uses an id from an earlier answer.

schemathesis infers from the OpenAPI document which operation creates the object that another operation
needs. For example, a sequence creates a profile, renames it, makes it the active one and deletes it.
SLIPWAY_FUZZ_SECONDS=600 sets the time to 600 seconds, and the sequences are then different in each run.
"""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.schemas import OpenApiSchema

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

SEQUENCES = {"owner": 14, "member": 6, "viewer": 4, "unauthenticated": 2}
REQUESTS_OF_EACH = 12


def _try_sequences(schema: OpenApiSchema, tried: Tried, identity: str, used: Counter[str]) -> None:
    machine: Any = schema.as_state_machine()
    begun = 0

    class Sequences(machine):
        def setup(self) -> None:
            nonlocal begun
            begun += 1
            super().setup()

        def get_call_kwargs(self, _case: schemathesis.Case) -> dict[str, Any]:
            return {
                "headers": tried.identities[identity],
                "session": tried.session,
                "timeout": PATIENCE_SECONDS,
            }

        def validate_response(self, response: Response, case: schemathesis.Case, **_options: Any) -> None:
            tried.judge(case, response, identity)
            if response.status_code < 400 and case.path_parameters:
                used[name_of(case)] += 1

    options = settings(
        max_examples=SEQUENCES[identity],
        stateful_step_count=REQUESTS_OF_EACH,
        derandomize=not MORE_SECONDS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    end = time.monotonic() + float(MORE_SECONDS or 0) / len(tried.identities)
    while begun < SEQUENCES[identity] or time.monotonic() < end:
        # A sequence may use objects that earlier sequences have created. So the same choices can have
        # another result the next time. hypothesis reports this as a flaky test. The answers until then are
        # checked.
        with suppress(FlakyStrategyDefinition):
            run_state_machine_as_test(Sequences, settings=options)


@pytest.mark.timeout(float(MORE_SECONDS or 0) + 300)
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_sequences_of_every_role_are_answered_as_documented(app: App, owner: User) -> None:
    # Requests may create conversations, but without this worker none of them starts.
    await app.state["start_worker"].close()
    schema = operations_to_try()
    tried = Tried(await identities_of(app, owner))
    used: dict[str, Counter[str]] = {identity: Counter() for identity in tried.identities}
    async with listening(app.public) as url:
        schema.config.update(base_url=url)
        with tried.session:
            for identity, counts in used.items():
                await asyncio.to_thread(_try_sequences, schema, tried, identity, counts)

    assert tried.failures == {}
    assert used["owner"], "what was created is used by its id"
    assert not used["unauthenticated"], used
