"""What a project tells the agent: in the system prompt, by keywords, on request."""

from pathlib import Path
from typing import Any

from agent_runtime.conversation.conversation import Conversation
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, say

ZEBRA = "---\nname: zebra\ntriggers:\n  - zebra\n  - '/stripes'\n---\nZebras have stripes."
RELEASE = "---\nname: release\ndescription: How to make a release.\n---\n1. Tag it."


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def told(conversation: Conversation) -> str:
    return str(of_kind(conversation, "SystemPromptEvent")[0]["system_prompt"]["text"])


def started(conversations: Conversations, files: dict[str, str], **context: Any) -> Conversation:
    write(conversations.workspace, files)
    return conversations.create(agent={"agent_context": {"load_project_skills": True, **context}})


async def test_a_projects_instructions_stand_in_the_system_prompt(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Aye."))
    files = {"AGENTS.md": "Use tabs.", ".cursorrules": "No semicolons.", "web/AGENTS.md": "Use spaces here."}
    conversation = started(conversations, files)
    conversation.send(user("Go."))

    await conversation.run()

    prompt = scripted_llm.requests[0].messages[0]["content"]
    assert "Use tabs." in prompt
    assert "No semicolons." in prompt
    assert "web/AGENTS.md" in prompt
    assert "Use spaces here." not in prompt


async def test_nothing_of_the_project_is_read_unless_asked_for(conversations: Conversations):
    write(conversations.workspace, {"AGENTS.md": "Use tabs."})
    conversation = conversations.create()

    conversation.send(user("Go."))

    assert "Use tabs." not in told(conversation)


async def test_a_keyword_brings_up_knowledge_once(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Aye."), say("Aye."))
    conversation = started(conversations, {".openhands/microagents/zebra.md": ZEBRA})
    for text in ("Draw a ZEBRA.", "Another zebra."):
        conversation.send(user(text))
        await conversation.run()

    first, second = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "user"]

    assert first["activated_skills"] == ["zebra"]
    assert "Zebras have stripes." in scripted_llm.requests[0].last_text
    assert second["activated_skills"] == []
    assert second["extended_content"] == []
    assert conversation.info().activated_knowledge_skills == ["zebra"]


async def test_a_trigger_with_a_slash_counts_only_at_the_beginning(conversations: Conversations):
    conversation = started(conversations, {".agents/skills/zebra.md": ZEBRA})

    conversation.send(user("See src/stripes."))
    conversation.send(user("/stripes please"))

    activated = [event["activated_skills"] for event in of_kind(conversation, "MessageEvent")]
    assert activated == [[], ["zebra"]]


async def test_a_skill_is_listed_and_read_when_the_agent_asks_for_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("invoke_skill", name="release"), call("invoke_skill", name="nope"), say("Done."))
    conversation = started(conversations, {".agents/skills/release/SKILL.md": RELEASE})
    conversation.send(user("Release it."))

    await conversation.run()

    assert "- release: How to make a release." in told(conversation)
    assert "1. Tag it." not in told(conversation)
    read, missing = of_kind(conversation, "ObservationEvent")
    assert "1. Tag it." in read["observation"]["content"][0]["text"]
    assert read["observation"]["skill_name"] == "release"
    assert missing["observation"]["is_error"]
    assert conversation.info().invoked_skills == ["release", "nope"]


async def test_without_skills_there_is_no_tool_to_read_them(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Hi."))
    conversation = conversations.create()
    conversation.send(user("Go."))
    await conversation.run()

    assert "invoke_skill" not in scripted_llm.requests[0].tool_names


async def test_what_was_found_at_the_creation_holds_after_a_restart(conversations: Conversations):
    conversation = started(conversations, {".agents/skills/release/SKILL.md": RELEASE})
    await conversation.close()
    (conversations.workspace / ".agents/skills/release/SKILL.md").unlink()

    again = conversations.reopen()

    assert [skill.name for skill in again.spec.project.skills] == ["release"]
    assert "invoke_skill" in again.tools


async def test_suffixes_of_the_client_are_added(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Ok."))
    conversation = started(
        conversations, {}, system_message_suffix="Be brief.", user_message_suffix="(Today.)"
    )
    conversation.send(user("Go."))
    await conversation.run()

    assert told(conversation).endswith("Be brief.")
    assert scripted_llm.requests[0].last_text == "Go.\n(Today.)"
