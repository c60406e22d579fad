"""Logs of older versions can be opened. Logs with an unusable snapshot (a stored state) can
be opened, too.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.log import EventLog, Record
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.agent_runtime.conversation.labour import assert_pairs, think, working
from tests.support.scripted_llm import ScriptedLLM, say

OLDER = Path(__file__).with_name("older_log.json")
"""A log of a version without snapshots and skills. It has two user messages, one run that ended, and one run
that was cut off during a command.
"""


def write_older_log(conversations: Conversations) -> None:
    text = OLDER.read_text().replace("WORKSPACE", str(conversations.workspace))
    older = orjson.loads(text.replace('"LLM"', f'"{conversations.llm.base_url}"'))
    log = EventLog(conversations.path / "conversation", create=True)
    log.append([Record(**{**event, "body": orjson.dumps(event["body"])}) for event in older["events"]])
    log.set_meta("spec", orjson.dumps(older["spec"]).decode())
    log.close()


async def test_a_log_of_an_older_version_opens_and_goes_on(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversations.workspace.mkdir()
    write_older_log(conversations)
    scripted_llm.script(think("Hm."), say("I have waited."))

    conversation = conversations.reopen()
    status_before = conversation.status
    await conversation.run()
    await conversation.close()
    again = conversations.reopen()

    assert status_before == "idle"
    assert (again.status, again.state.final_response) == ("finished", "I have waited.")
    assert "by a restart" in of_kind(again, "AgentErrorEvent")[0]["error"]
    assert_pairs(scripted_llm.requests[0].messages)
    assert next(m["content"] for m in scripted_llm.requests[0].messages if m["role"] == "user") == "Greet."
    assert again.info().title == "Greeting"
    assert again.info().stats["usage_to_metrics"]["agent"]["accumulated_token_usage"]["prompt_tokens"] == 500


async def long_conversation(conversations: Conversations, scripted_llm: ScriptedLLM) -> ConversationEngine:
    """Runs a conversation so long that a snapshot is written when it is closed. Returns the open
    conversation.
    """
    scripted_llm.fallback = working(80)
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()
    return conversation


def put_snapshot(conversations: Conversations, change: str) -> None:
    log = EventLog(conversations.path / "conversation")
    stored = log.get_meta("snapshot")
    assert stored is not None
    body = orjson.loads(stored)
    match change:
        case "is newer than the log":
            body["state"]["last_seq"] += 1000
            body["state"]["final_response"] = "never said"
        case "lacks a part":
            del body["measure"]
        case "has passages of another shape":
            body["passages"] = [["one"]]
        case "is of another version":
            body["format"][0] += 1
            body["state"]["final_response"] = "never said"
        case "is no object":
            body = [1]
    log.set_meta("snapshot", "{torn" if change == "is torn" else orjson.dumps(body).decode())
    log.close()


@pytest.mark.parametrize(
    "change",
    [
        "is newer than the log",
        "lacks a part",
        "has passages of another shape",
        "is of another version",
        "is no object",
        "is torn",
    ],
)
async def test_the_log_is_read_when_the_snapshot(
    conversations: Conversations, scripted_llm: ScriptedLLM, change: str
):
    conversation = await long_conversation(conversations, scripted_llm)
    state, messages = conversation.state, conversation.run_context.model_input.messages()
    await conversation.close()
    put_snapshot(conversations, change)

    again = conversations.reopen()

    assert again.state == state
    assert again.run_context.model_input.messages() == messages


@contextmanager
def full_disk() -> Iterator[None]:
    """Simulates a full disk: no file can grow beyond 4096 bytes inside the `with` block."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


async def test_a_full_disk_does_not_keep_it_from_closing(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await long_conversation(conversations, scripted_llm)
    for number in range(210):
        conversation.send(user(f"{number}"))

    with full_disk():
        await conversation.close()

    assert of_kind(conversations.reopen(), "MessageEvent")[-1]["llm_message"]["content"][0]["text"] == "209"
