"""Public routes refuse a body with an unknown field, and change nothing."""

from typing import Any

import httpx
import pytest

from tests.app_server.problems import assert_problem

CREDENTIAL = {"host": "api.example.org", "scope": "user", "kind": "bearer", "value": "token-of-the-host"}
BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/mcp-sign-ins", {"state": "given"}),
    ("POST", "/api/v1/sandbox-specs", {"name": "mine", "dockerfile": "FROM debian"}),
    ("POST", "/api/v1/sandbox-specs/from-repository", {"repository": "https://git.example.org/acme/shop"}),
    ("POST", "/api/v1/secrets", {"name": "TOKEN", "value": "a-value"}),
    ("PUT", "/api/v1/secrets/TOKEN", {"description": "Opens the shop"}),
    ("PUT", "/api/v1/settings/commit-signing", {"is_on": False}),
    ("POST", "/api/v1/settings/commit-signing/hosts", {"host": "github.com"}),
    ("PUT", "/api/v1/settings/confirmation", {"mode": "always"}),
    ("POST", "/api/v1/settings/git-credentials", {"host": "git.example.org", "token": "a-token"}),
    ("PATCH", f"/api/v1/settings/git-credentials/{'0' * 32}", {"username": "x"}),
    ("POST", "/api/v1/settings/git-sign-ins/finish", {"state": "given"}),
    ("PUT", "/api/v1/settings/network", {"mode": "open"}),
    ("POST", "/api/v1/settings/network/credentials", CREDENTIAL),
    ("PUT", "/api/v1/settings/network/repositories", {"repository": "github.com/acme/shop", "mode": "open"}),
    ("POST", "/api/v1/settings/profiles/mine/rename", {"new_name": "other"}),
    ("PUT", "/api/v1/settings/sandbox-grouping", {"sandbox_grouping_strategy": "ADD_TO_ANY"}),
    ("PUT", "/api/v1/settings/sandbox-spec", {"sandbox_spec_id": "default"}),
    ("POST", "/api/v1/sign-in/link", {"token": "x"}),
    ("POST", "/api/v1/app-conversations", {"goal": {"max_iterations": 1, "unknown": 1}}),
    ("POST", "/api/v1/app-conversations", {"initial_message": {"content": [], "unknown": 1}}),
]


@pytest.mark.parametrize(("method", "path", "body"), BODIES)
async def test_an_unknown_field_is_refused(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any]
) -> None:
    is_nested = path == "/api/v1/app-conversations"
    reply = await client.request(method, path, json=body if is_nested else {**body, "unknown": 1})
    assert_problem(reply, 422, "validation_failed")
    assert any(error["loc"][-1] == "unknown" for error in reply.json()["errors"])


async def test_a_misspelled_limit_of_a_credential_does_not_widen_it(client: httpx.AsyncClient) -> None:
    route = "/api/v1/settings/network/credentials"
    assert_problem(await client.post(route, json={**CREDENTIAL, "path": "/v1"}), 422, "validation_failed")
    assert "api.example.org" not in (await client.get(route)).text
