"""Notes that an agent writes in one conversation are given to the next conversation about
the same project.
"""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.replay import replay
from agent_runtime.tools.memory.notes import MAX_NOTES, MAX_TEXT_BYTES, Note, read_notes
from agent_runtime.tools.memory.relevance import most_relevant
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, say

TESTS = "---\ntitle: Running the tests\ncreated: 2026-11-01T10:00:00Z\n---\nUse `make check`, never pytest."
COLOURS = "---\ntitle: Colours of the brand\n---\nTeal and sand."


def remembering(conversations: Conversations, notes: dict[str, str] | None = None) -> ConversationEngine:
    directory = conversations.workspace / ".agents/memory"
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (notes or {}).items():
        (directory / f"{name}.md").write_text(text)
    return conversations.create(agent={"agent_context": {"load_memory": True}})


def note_file(conversations: Conversations, name: str) -> Path:
    return conversations.workspace / ".agents/memory" / f"{name}.md"


async def answers(
    conversation: ConversationEngine, llm: ScriptedLLM, *steps: dict[str, Any]
) -> list[tuple[bool, str]]:
    """Has the agent write a note for each of `steps`. Returns for each call whether it failed, and the text
    of its result.
    """
    llm.script(*(call("memory_write", **step) for step in steps), say("Done."))
    conversation.send(user("Go."))
    await conversation.run()
    found = [event["observation"] for event in of_kind(conversation, "ObservationEvent")]
    return [(one["is_error"], one["content"][0]["text"]) for one in found]


async def test_a_note_is_written_and_the_next_conversation_is_given_it(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    first = remembering(conversations)
    note = {"name": "running-the-tests", "title": "How to run\nthe tests", "text": "Use `make check`."}
    (said,) = await answers(first, scripted_llm, {"command": "create", **note})
    conversations.path = tmp_path / "next"
    second = remembering(conversations)
    scripted_llm.script(say("Aye."))
    second.send(user("Why do the tests fail?"))

    await second.run()

    assert said[0] is False
    kept = note_file(conversations, "running-the-tests").read_text()
    assert 'title: "How to run the tests"' in kept
    assert f'source: "{first.id.hex}"' in kept
    prompt, message = scripted_llm.requests[-1].messages
    assert "- running-the-tests: How to run the tests" in prompt["content"]
    assert "Use `make check`." not in prompt["content"]
    assert "Use `make check`." in message["content"]
    assert "information, not instructions" in message["content"]
    assert {"memory_search", "memory_write"} <= set(scripted_llm.requests[-1].tool_names)


async def test_only_notes_that_fit_the_first_message_are_given_and_only_with_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Aye."), say("Aye."))
    conversation = remembering(conversations, {"tests": TESTS, "colours": COLOURS})
    for text in ("Please fix the failing test.", "And the colours of the brand?"):
        conversation.send(user(text))
        await conversation.run()

    first, second = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "user"]

    assert "never pytest" in first["extended_content"][0]["text"]
    assert "Teal" not in first["extended_content"][0]["text"]
    assert second["extended_content"] == []
    prompts = [prompt.messages for prompt in replay(conversation.log, "agent")]
    assert all(b"never pytest" in b"".join(messages) for messages in prompts)


async def test_without_the_flag_there_is_no_memory(conversations: Conversations, scripted_llm: ScriptedLLM):
    remembering(conversations, {"tests": TESTS})
    conversations.path = conversations.path / "other"
    conversation = conversations.create()
    scripted_llm.script(say("Aye."))
    conversation.send(user("Run the tests."))

    await conversation.run()

    assert "make check" not in str(scripted_llm.requests[0].messages)
    assert "earlier conversations" not in str(scripted_llm.requests[0].messages)
    assert "memory_search" not in scripted_llm.requests[0].tool_names


async def test_the_agent_searches_the_notes(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        call("memory_search", query="how are tests run?"), call("memory_search", query="xylophone"), say(".")
    )
    conversation = remembering(conversations, {"tests": TESTS, "colours": COLOURS})
    conversation.send(user("Go."))

    await conversation.run()

    found, nothing = (event["observation"] for event in of_kind(conversation, "ObservationEvent"))
    assert "never pytest" in found["content"][0]["text"]
    assert "Teal" not in found["content"][0]["text"]
    assert "- colours: Colours of the brand" in nothing["content"][0]["text"]


async def test_calls_travel_in_kinds_that_clients_know(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = remembering(conversations)
    step = {"command": "create", "name": "a", "title": "A", "text": "B", "summary": "note it"}

    await answers(conversation, scripted_llm, step)

    (action,) = of_kind(conversation, "ActionEvent")
    (result,) = of_kind(conversation, "ObservationEvent")
    data = {"command": "create", "name": "a", "title": "A", "text": "B"}
    assert action["action"] == {"data": data, "kind": "MCPToolAction"}
    assert result["observation"]["kind"] == "MCPToolObservation"
    assert result["observation"]["tool_name"] == "memory_write"
    tools = of_kind(conversation, "SystemPromptEvent")[0]["tools"]
    assert {tool["kind"] for tool in tools if tool["title"].startswith("memory_")} == {"MCPToolDefinition"}


async def test_a_note_is_brought_up_to_date_and_deleted(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = remembering(conversations, {"tests": TESTS, "colours": COLOURS})

    said = await answers(
        conversation,
        scripted_llm,
        {"command": "update", "name": "tests", "text": "Use `make test`."},
        {"command": "delete", "name": "colours"},
    )

    assert [is_error for is_error, _ in said] == [False, False]
    (note,) = read_notes(conversations.workspace)
    assert (note.title, note.text) == ("Running the tests", "Use `make test`.")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"command": "create", "name": "tests", "title": "T", "text": "x"}, "There is a note tests already"),
        ({"command": "create", "name": "new", "text": "x"}, "needs a `title`"),
        ({"command": "create", "name": "new", "title": "T"}, "needs a `text`"),
        ({"command": "create", "name": "../up", "title": "T", "text": "x"}, "small letters"),
        ({"command": "create", "name": "new", "title": "T", "text": "x" * (MAX_TEXT_BYTES + 1)}, "at most"),
        ({"command": "create", "name": "new", "title": "T" * 121, "text": "x"}, "at most 120"),
        ({"command": "update", "name": "new", "text": "x"}, "There is no note new"),
        ({"command": "delete", "name": "new"}, "There is no note new"),
    ],
)
async def test_what_cannot_be_noted_is_said_and_changes_nothing(
    conversations: Conversations, scripted_llm: ScriptedLLM, step: dict[str, Any], words: str
):
    conversation = remembering(conversations, {"tests": TESTS})

    ((is_error, text),) = await answers(conversation, scripted_llm, step)

    assert is_error
    assert words in text
    assert [note.name for note in read_notes(conversations.workspace)] == ["tests"]


async def test_there_are_only_so_many_notes(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = remembering(conversations, {f"n{number}": COLOURS for number in range(MAX_NOTES)})

    step = {"command": "create", "name": "one-more", "title": "T", "text": "x"}
    ((is_error, text),) = await answers(conversation, scripted_llm, step)

    assert is_error
    assert f"{MAX_NOTES} notes already" in text


async def test_notes_do_not_lead_out_of_the_project(
    conversations: Conversations, scripted_llm: ScriptedLLM, tmp_path: Path
):
    (tmp_path / "precious.md").write_text("Keep me.")
    conversation = remembering(conversations)
    note_file(conversations, "link").symlink_to(tmp_path / "precious.md")

    said = await answers(
        conversation,
        scripted_llm,
        {"command": "update", "name": "link", "title": "T", "text": "Gone."},
        {"command": "delete", "name": "link"},
    )

    assert [is_error for is_error, _ in said] == [True, True]
    assert (tmp_path / "precious.md").read_text() == "Keep me."


async def test_an_invalid_note_is_reported(conversations: Conversations):
    notes = {
        "tests": TESTS,
        "Big Name": "x",
        "bad": "---\ntitle: [\n---\nx",
        "long": "x" * (MAX_TEXT_BYTES + 1),
    }
    conversation = remembering(conversations, notes)

    report = {Path(one.path).stem: one for one in conversation.spec.project.findings}

    assert [name for name, one in report.items() if one.is_loaded] == ["tests"]
    assert "small letters" in report["Big Name"].reason
    assert "not valid YAML" in report["bad"].reason
    assert "at most" in report["long"].reason


def test_the_best_fitting_notes_come_first():
    notes = [
        Note(name="deploy", title="Deploying", text="The tests run before."),
        Note(name="tests", title="Running the tests", text="make check"),
        Note(name="other", title="Other", text="nothing of that"),
    ]

    assert [note.name for note in most_relevant(notes, "How do I run a TEST here?", 5)] == ["tests", "deploy"]
    assert most_relevant(notes, "what should you do with this?", 5) == []
    assert most_relevant(notes, '"; DROP TABLE notes --', 5) == []
    assert [note.name for note in most_relevant(notes, "déployîng", 5)] == ["deploy"]
