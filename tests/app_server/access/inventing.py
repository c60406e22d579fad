"""Helpers that the tests with invented requests share: the roles that send the requests, and the checks of
the answers.

The checks are: No answer is a server error. Each success has a documented status. Each body matches its
documented schema. All operations document their errors together, as `default`, so each status of 400 to
499 is documented.
"""

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance
from schemathesis.specs.openapi.schemas import OpenApiSchema

from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App

MORE_SECONDS = os.environ.get("SLIPWAY_FUZZ_SECONDS")
"""The number of seconds that the tests send requests. If the variable is set, the requests are also
different in each run. If it is not set, the tests take less time and repeat the same requests.
"""
PATIENCE_SECONDS = 20
DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi" / "app_server.json"
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
OTHER_SERVER_FAILED = {502, 503, 504}
"""Statuses which mean that a git host, a model, a registry or a sandbox could not be reached."""
NOT_TRIED = {
    "GET /api/v1/users/me/stream": "it never ends",
    "POST /api/v1/app-conversations/stream-start": "it ends with the start, and no worker is here",
    "POST /api/v1/sandboxes": "each would start a real sandbox",
}


def operations_to_try() -> OpenApiSchema:
    """Returns the app server's OpenAPI document without the operations of `NOT_TRIED`."""
    document: dict[str, Any] = orjson.loads(DOCUMENT.read_bytes())
    for name in NOT_TRIED:
        method, path = name.split()
        del document["paths"][path][method.lower()]
    schema: OpenApiSchema = schemathesis.openapi.from_dict(document)
    return schema


@schemathesis.serializer("application/zip")
def _as_it_is(_context: Any, value: bytes) -> bytes:
    return value


def name_of(case: schemathesis.Case) -> str:
    return f"{case.operation.method.upper()} {case.operation.path}"


@dataclass
class Tried:
    """Counts the requests of each operation, checks their answers and stores what was wrong.

    identities: the request headers of each role, by the name of the role.
    operations: how many requests each operation got.
    failures: what was wrong, by operation and role.
    """

    identities: dict[str, dict[str, str]]
    operations: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: dict[str, str] = field(default_factory=dict)
    session: requests.Session = field(default_factory=requests.Session)

    def judge(self, case: schemathesis.Case, reply: Response | requests.Response, identity: str) -> None:
        name = name_of(case)
        answered = {not_a_server_error} if reply.status_code in OTHER_SERVER_FAILED else set()
        documented = case.operation.definition.raw["responses"]
        try:
            case.validate_response(reply, checks=[each for each in CHECKS if each not in answered])
            if reply.status_code < 400 and str(reply.status_code) not in documented:
                self.failures.setdefault(f"{name} as {identity}", f"answers {reply.status_code}")
        except (FailureGroup, Failure) as failure:
            self.fail(case, identity, failure)

    def fail(self, case: schemathesis.Case, identity: str, failure: Exception) -> None:
        causes = failure.exceptions if isinstance(failure, FailureGroup) else (failure,)
        told = " | ".join(str(cause)[:1500] for cause in causes)
        self.failures.setdefault(f"{name_of(case)} as {identity}", told)


async def identities_of(app: App, owner: User) -> dict[str, dict[str, str]]:
    keys: dict[str, dict[str, str]] = {"unauthenticated": {}}
    async with app.database.session() as session:
        people = {"owner": owner}
        for role in (Role.MEMBER, Role.VIEWER):
            people[role.value] = await create_user(session, name=f"A {role}", role=role)
        for name, user in people.items():
            _, key = await create_api_key(session, user, name="invented requests")
            keys[name] = {"Authorization": f"Bearer {key}"}
    return keys
