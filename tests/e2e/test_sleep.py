"""A paused sandbox wakes with the next message, and the conversation goes on with the files it had."""

import pytest

from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    conversation,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = pytest.mark.timeout(600)


def test_a_message_wakes_a_sandbox_that_was_put_to_sleep(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        call("terminal", command="echo kept > note.txt"),
        say("Noted."),
        call("terminal", command="cat note.txt"),
        say("It says: kept."),
    )
    with scripted_server.client() as client:
        conversation_id = start_conversation(client, "Take a note")
        wait_for_status(client, conversation_id, "finished")
        client.post(f"/sandboxes/{conversation_id}/pause").raise_for_status()
        asleep = conversation(client, conversation_id)["sandbox_status"]
        message = {"role": "user", "content": [{"type": "text", "text": "Read it to me"}], "run": True}
        client.post(f"/app-conversations/{conversation_id}/send-message", json=message).raise_for_status()
        wait_until(
            lambda: "It says: kept." in str(events(client, conversation_id)),
            lambda: f"the second answer: {events(client, conversation_id)}",
        )
        awake = conversation(client, conversation_id)["sandbox_status"]
        seen = [event for event in events(client, conversation_id) if event["kind"] == "ObservationEvent"]

    assert (asleep, awake) == ("PAUSED", "RUNNING")
    assert "kept" in str(seen[-1]["observation"])
