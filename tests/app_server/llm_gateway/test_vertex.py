"""Tests of models at Vertex AI: the key of a service account stays in the app server, and each call is sent
with an access token from Google.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app_server.llm_gateway.forwarding import bounds, vertex
from tests.app_server.problems import assert_problem
from tests.support.google_sign_in import GoogleSignIn, google_sign_in
from tests.support.scripted_llm import ScriptedLLM, call, fail, say
from tests.support.vendor_types import accept

PROFILES = "/api/v1/settings/profiles"
GEMINI = "vertex_ai/gemini-3-pro-preview"

# litellm's own code raises the warnings.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleSignIn]:
    with google_sign_in() as server:
        monkeypatch.setattr(vertex, "TOKEN_URL", server.url)
        # litellm would use these packages if they were installed. The product's environment does not have
        # them.
        monkeypatch.setitem(sys.modules, "google.auth", None)
        monkeypatch.setitem(sys.modules, "google.oauth2", None)
        yield server


async def save(client: httpx.AsyncClient, vendor: ScriptedLLM, **llm: Any) -> httpx.Response:
    settings = {"model": GEMINI, "base_url": vendor.base_url.removesuffix("/v1"), **llm}
    return await client.post(f"{PROFILES}/mine", json={"llm": settings})


async def tried(client: httpx.AsyncClient) -> dict[str, Any]:
    reply = await client.post(f"{PROFILES}/mine/test")
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (GEMINI, "publishers/google/models/gemini-3-pro-preview:streamGenerateContent"),
        (
            "vertex_ai/claude-sonnet-4-5@20250929",
            "publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
        ),
    ],
)
async def test_a_call_carries_a_token_that_the_key_was_exchanged_for(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, google: GoogleSignIn, model: str, path: str
) -> None:
    key = google.account_key()
    saved = await save(client, scripted_llm, model=model, api_key=key, location="europe-west1")
    assert saved.status_code == 201, saved.text
    assert "PRIVATE" not in (await client.get(PROFILES)).text
    turns = (call("report_colour", colour="red"), say("OK"), say("OK", cached_tokens=90))
    scripted_llm.script(*turns)

    result = await tried(client)

    assert (result["tool_calls"], result["caching"]) == ("native", True)
    assert len(google.tokens) == 1
    for asked in scripted_llm.requests:
        assert asked.headers["authorization"] == f"Bearer {google.tokens[0]}"
        assert f"/projects/our-project/locations/europe-west1/{path}" in asked.path
        assert "PRIVATE" not in json.dumps(asked.body)
        accept(asked.route, asked.body)


@pytest.mark.parametrize("model", [GEMINI, "vertex_ai/claude-sonnet-4-5@20250929"])
@pytest.mark.parametrize(
    ("location", "host"),
    [(None, "aiplatform.googleapis.com"), ("europe-west4", "europe-west4-aiplatform.googleapis.com")],
)
async def test_the_location_decides_the_address(
    client: httpx.AsyncClient,
    scripted_llm: ScriptedLLM,
    google: GoogleSignIn,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    location: str | None,
    host: str,
) -> None:
    class Refusing(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(403, json={"error": {"message": f"asked {request.url.host}"}})

    # Replaces the transport, the last step before the network.
    monkeypatch.setattr(bounds, "_transport", lambda _: Refusing())
    await save(
        client, scripted_llm, model=model, base_url=None, api_key=google.account_key(), location=location
    )
    assert f"asked {host}" in (await tried(client))["refusal"]


async def test_a_token_that_ends_soon_is_replaced(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, google: GoogleSignIn
) -> None:
    google.valid_seconds = 60
    await save(client, scripted_llm, api_key=google.account_key())
    scripted_llm.script(call("report_colour", colour="red"), say("OK", cached_tokens=90))
    assert (await tried(client))["answers"]
    assert len(google.tokens) == 2
    assert "/locations/global/" in scripted_llm.requests[0].path


async def test_a_vendor_that_quotes_the_token_does_not_tell_it(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, google: GoogleSignIn
) -> None:
    await save(client, scripted_llm, api_key=google.account_key())
    email = json.loads(google.account_key())["client_email"]
    scripted_llm.script(fail(403, error=f"token-canary-1-of-{email} may not call this model"))
    refusal = (await tried(client))["refusal"]
    assert "[key] may not call this model" in refusal
    assert "token-canary" not in refusal


async def test_google_refuses_a_key_that_it_does_not_know(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, google: GoogleSignIn
) -> None:
    with google_sign_in() as another:
        await save(client, scripted_llm, api_key=another.account_key())
    result = await tried(client)
    assert not result["answers"]
    assert "Google does not accept the service account's key: Invalid JWT Signature." in result["refusal"]
    assert scripted_llm.requests == []


async def test_without_a_key_the_identity_of_the_machine_is_not_used(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERTEXAI_PROJECT", "of-the-machine")
    monkeypatch.setenv("VERTEXAI_CREDENTIALS", "/etc/hostname")
    await save(client, scripted_llm)
    assert "This model at Vertex AI has no key." in (await tried(client))["refusal"]
    assert scripted_llm.requests == []


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("sk-123", "is not JSON"),
        ("/etc/passwd", "is not JSON"),
        ('{"type": "external_account"}', "is not of the type service_account"),
        ("[1]", "is not of the type service_account"),
        ('{"type": "service_account", "project_id": 3}', "has no project_id"),
    ],
)
async def test_another_key_is_refused_when_it_is_saved(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM, key: str, what: str
) -> None:
    refused = await save(client, scripted_llm, api_key=key)
    assert_problem(refused, 400, "vertex_key_invalid")
    assert what in refused.json()["detail"]


async def test_a_broken_private_key_and_a_location_elsewhere_are_refused(
    client: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    broken = GoogleSignIn().account_key(private_key="-----BEGIN PRIVATE KEY-----\nx\n")
    assert_problem(await save(client, scripted_llm, api_key=broken), 400, "vertex_key_invalid")
    elsewhere = await save(client, scripted_llm, model="openai/gpt-5", location="europe-west1")
    assert_problem(elsewhere, 400, "llm_option_refused")
