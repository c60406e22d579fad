"""Tests of a conversation with MCP servers from the settings: a real agent server, real MCP servers and a
scripted model.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from app_server.core.config import Config
from tests.app_server.conversations.conftest import Home, eventually
from tests.support.live_trees import files_with
from tests.support.mcp_processes import STDIO, http_server
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.search_service import SearchService, search_service

KEY = "canary-header-0b77d9e2"
SETTINGS = "/api/v1/settings/mcp"
ENVIRONMENTS = (
    "env; process=$$; while [ $process -gt 1 ]; do tr '\\0' '\\n' < /proc/$process/environ; "
    "process=$(cut -d ' ' -f 4 /proc/$process/stat); done"
)
"""A shell command that prints the environments of the shell and of all its parent processes."""
MESSAGE = {"role": "user", "content": [{"type": "text", "text": "Go."}]}


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http", SLIPWAY_TEST_MCP_KEY=KEY) as url:
        yield url


@pytest.fixture
async def model(home: Home, scripted_llm: ScriptedLLM) -> ScriptedLLM:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})
    return scripted_llm


async def carried_out(home: Home) -> tuple[str, list[str], str]:
    """Starts a conversation and waits until its agent has finished. Returns its id, the results of its tool
    calls, and the whole log as text.
    """
    task = await home.ready(
        llm_profile="mine", initial_message=MESSAGE, title="Tools", confirmation_mode="never"
    )

    async def finished() -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(finished)
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    observed = [
        " ".join(part["text"] for part in event["observation"]["content"])
        for event in page.json()["items"]
        if "observation" in event
    ]
    return task["id"], observed, page.text


async def test_a_tool_of_a_guarded_server_is_called_and_its_key_stays_outside(
    home: Home, model: ScriptedLLM, guarded_url: str
) -> None:
    guarded = {"url": guarded_url, "headers": {"Authorization": f"Bearer {KEY}"}}
    assert (await home.client.post(f"{SETTINGS}/sums", json=guarded)).status_code == 201
    idle = {"url": "http://127.0.0.1:9/mcp", "enabled": False}
    await home.client.post(f"{SETTINGS}/idle", json=idle)
    model.script(call("add", a=2, b=40), say("It is 42."))

    conversation_id, observed, log = await carried_out(home)

    assert "sum=42" in observed[0]
    assert '"idle"' not in log
    assert KEY not in log
    assert guarded_url not in log, "the sandbox knows the broker's address only"
    assert not any(KEY in str(request.body) for request in model.requests)
    # Searches the environments of the sandbox's processes, and all files of the sandbox and of the app
    # server.
    assert KEY not in await home.shell(conversation_id, ENVIRONMENTS)
    assert await asyncio.to_thread(files_with, home.config.home, KEY) == []


async def test_a_command_runs_in_the_sandbox_with_its_variables(home: Home, model: ScriptedLLM) -> None:
    command = {**STDIO, "env": {"HARBOUR": "Kiel"}}
    assert (await home.client.post(f"{SETTINGS}/local", json=command)).status_code == 201
    model.script(call("environment", name="HARBOUR"), say("Done."))

    _, observed, _ = await carried_out(home)

    assert "Kiel" in observed[0]


async def test_a_server_that_does_not_let_us_in_is_explained(
    home: Home, model: ScriptedLLM, guarded_url: str
) -> None:
    await home.client.post(f"{SETTINGS}/sums", json={"url": guarded_url})
    model.script(say("There are no tools."))

    _, _, log = await carried_out(home)

    assert "refuses the sign-in (HTTP 401)" in log
    assert "correct its headers, or connect it again, in the settings" in log


class TestWithSearch:
    @pytest.fixture
    def tavily(self) -> Iterator[SearchService]:
        with search_service() as service:
            yield service

    @pytest.fixture
    def config(self, config: Config, tavily: SearchService) -> Config:
        return config.model_copy(update={"tavily_api_key": SecretStr(KEY), "tavily_url": tavily.url})

    async def test_agents_search_the_web_without_set_up_and_the_key_stays_outside(
        self, home: Home, model: ScriptedLLM, tavily: SearchService
    ) -> None:
        model.script(call("web_search", query="cranes"), say("They are tall."))

        conversation_id, observed, log = await carried_out(home)

        assert "tall" in observed[0]
        assert tavily.seen == [(f"Bearer {KEY}", {"query": "cranes", "max_results": 5})]
        assert KEY not in log
        assert KEY not in await home.shell(conversation_id, ENVIRONMENTS)
