"""A secret of the settings in a command of an agent: a real agent server, a scripted model."""

from typing import Any

from tests.app_server.conversations.conftest import Home, eventually
from tests.support.scripted_llm import ScriptedLLM, call, say

CANARY = "canary-value-90ab"


async def test_a_command_that_names_a_secret_gets_it_and_nobody_sees_it(
    home: Home, scripted_llm: ScriptedLLM
):
    settings = {
        "model": "openai/scripted",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    body = {"name": "TOKEN", "value": CANARY, "description": "Opens the staging server"}
    assert (await home.client.post("/api/v1/secrets", json=body)).status_code == 201
    scripted_llm.script(
        call("terminal", command="printf %s $TOKEN | wc -c; echo $TOKEN"),
        call("terminal", command="echo $TOKEN | wc -c"),
        say("Done."),
    )
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    task = await home.ready(llm_profile="mine", initial_message=message, title="Secrets")

    async def finished() -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(finished)
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    observed = [e["observation"]["content"][0]["text"] for e in page.json()["items"] if "observation" in e]
    assert observed[0] == f"{len(CANARY)}\n<secret-hidden>"
    assert observed[1] == str(len(CANARY) + 1)
    assert CANARY not in page.text
    prompt = str(scripted_llm.requests[0].messages)
    assert "- TOKEN: Opens the staging server" in prompt
    assert not any(CANARY in str(request.body) for request in scripted_llm.requests)
