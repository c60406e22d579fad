"""Tests of a program in a sandbox that calls the model with a model key, through a real agent server and its
relay.
"""

from typing import Any
from uuid import UUID

from tests.app_server.conversations.conftest import Home, eventually
from tests.support.scripted_llm import ScriptedLLM, call, say

CHAT = """curl -s "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
-H 'Content-Type: application/json' -d '{"model": "x", "messages": [{"role": "user", "content": "hi"}]}'"""
MESSAGE = """curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" \
-H 'Content-Type: application/json' \
-d '{"model": "x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}'"""


async def test_a_program_calls_the_model_and_finds_no_other_key(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    task = await home.ready(llm_profile="mine", title="Programs")
    path = f"/api/v1/app-conversations/{task['id']}"
    made = (await home.client.post(f"{path}/model-key", json={})).json()
    scripted_llm.script(
        call("terminal", command=f"{CHAT}; echo; env | grep -c ^SLIPWAY_MODELS_URL="),
        call("terminal", command=f"{made['shell']}; {CHAT}; echo; {MESSAGE}; echo; env"),
        say("word-of-chat"),
        say("word-of-messages"),
        say("Done."),
    )
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    (await home.client.post(f"{path}/send-message", json=message)).raise_for_status()

    async def finished() -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(finished)
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    without, given = [
        event["observation"]["content"][0]["text"] for event in page.json()["items"] if "observation" in event
    ]
    assert "word-of" not in without
    assert without.splitlines()[-1] == "1"
    chat, messages, *_ = given.splitlines()
    assert '"content":"word-of-chat"' in chat.replace(": ", ":")
    assert '"type":"message"' in messages
    assert '"text":"word-of-messages"' in messages
    assert scripted_llm.api_key not in page.text
    running = home.state["sandboxes"].running(UUID(task["sandbox_id"]))
    assert running.client.session_key not in page.text
