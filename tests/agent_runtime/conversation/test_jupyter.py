"""Tests of an agent that runs code in a Jupyter kernel."""

import asyncio
from pathlib import Path

from tests.agent_runtime.conversation.conftest import Conversations, events_of, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, say

PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9cc\xf8\xff"
    b"\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82"
)


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cell(code: str):
    return call("execute_ipython_cell", code=code, summary="Run a cell")


async def test_cells_share_variables_and_the_model_sees_text_and_pictures(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    plot = f"from IPython.display import Image\nImage({PIXEL!r}, format='png')"
    scripted_llm.script(cell("x = 6"), cell("x * 7"), cell(plot), say("42, and a plot."))
    conversation = conversations.create(tools=["execute_ipython_cell"])
    conversation.send(user("Compute."))

    await conversation.run()

    observations = [event["observation"] for event in of_kind(conversation, "ObservationEvent")]
    assert observations[1]["content"][0]["text"] == "42"
    assert observations[2]["content"][1]["image_urls"][0].startswith("data:image/png;base64,")
    assert {observation["kind"] for observation in observations} == {"MCPToolObservation"}
    [kind] = {event["action"]["kind"] for event in of_kind(conversation, "ActionEvent")}
    assert kind == "MCPToolAction"
    assert "42" in scripted_llm.requests[2].last_text


async def test_an_interrupted_conversation_stops_the_cell_and_the_next_one_still_knows(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    waits = "import os, time\nx = 6\nopen('begun', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    scripted_llm.script(cell(waits), cell("x * 7"), say("42"))
    conversation = conversations.create(tools=["execute_ipython_cell"])
    conversation.send(user("Wait."))
    conversation.start()
    begun = conversations.workspace / "begun"
    async with asyncio.timeout(60):
        while not (begun.exists() and begun.read_text()):  # noqa: ASYNC110 (files send no events)
            await asyncio.sleep(0.02)

    await conversation.interrupt()
    conversation.send(user("And now?"))
    await conversation.run()

    [error] = of_kind(conversation, "AgentErrorEvent")
    assert "Interrupted by the user" in error["error"]
    assert of_kind(conversation, "ObservationEvent")[0]["observation"]["content"][0]["text"] == "42"
    pid = int(begun.read_text())
    await conversation.close()
    assert not is_alive(pid)


async def test_a_risky_cell_waits_for_the_user_and_a_harmless_one_does_not(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(cell("1 + 1"), cell("!sudo rm -rf /"))
    conversation = conversations.create(
        tools=["execute_ipython_cell"], confirmation_policy={"kind": "ConfirmRisky"}
    )
    conversation.send(user("Clean up."))

    await conversation.run()

    assert conversation.status == "waiting_for_confirmation"
    assert len(of_kind(conversation, "ObservationEvent")) == 1
    [*_, analysis] = [event for event in events_of(conversation) if event["kind"] == "SecurityAnalysisEvent"]
    assert [*analysis["risks"].values()] == ["HIGH"]
