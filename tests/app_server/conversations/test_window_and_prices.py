"""Tests of the data about a model that the app server sends to a sandbox: context window, prices and
timeouts. The sandbox has no list of models itself.
"""

from uuid import UUID

import httpx

from app_server.sandbox_records.models import Sandbox
from tests.app_server.conversations.conftest import Home
from tests.support.scripted_llm import ScriptedLLM


async def test_window_and_prices_come_with_the_model(home: Home, scripted_llm: ScriptedLLM) -> None:
    llm = {
        "model": "openai/gpt-4o-mini",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    price = {"input_cost_per_token": 1e-6, "output_cost_per_token": 0}
    for name, more in (("listed", {}), ("own", {**price, "timeout": 33})):
        saved = await home.client.post(f"/api/v1/settings/profiles/{name}", json={"llm": {**llm, **more}})
        assert saved.status_code == 201, saved.text
    task = await home.ready(llm_profile="listed")
    async with home.database.read() as session:
        sandbox = await session.get_one(Sandbox, UUID(task["id"]))
    assert sandbox.encrypted_session_key is not None
    key = home.state["cipher"].decrypt(sandbox.encrypted_session_key)

    url = f"http://127.0.0.1:{home.config.inner_port}/api/v1/sandboxes/{task['id']}/settings/llm"
    async with httpx.AsyncClient(headers={"X-Session-API-Key": key}) as program:
        listed = (await program.get(url, params={"profile": "listed"})).json()
        own = (await program.get(url, params={"profile": "own"})).json()

    assert (listed["input_cost_per_token"], listed["output_cost_per_token"]) == (1.5e-07, 6e-07)
    assert (listed["cache_read_cost_per_token"], listed["max_input_tokens"]) == (7.5e-08, 128000)
    assert (own["input_cost_per_token"], own["output_cost_per_token"]) == (1e-6, 0)
    assert (own["cache_read_cost_per_token"], own["max_input_tokens"]) == (1e-6, 128000)
    # The gateway's timeout is shorter, so the gateway ends a call before the sandbox does.
    assert (listed["timeout"], listed["stream_idle_timeout"]) == (615, 615)
    assert (own["timeout"], own["stream_idle_timeout"]) == (48, 48)
