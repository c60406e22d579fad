"""Tests of skills that a user calls by name and that take inputs."""

from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, say

RELEASE = """---
name: release
inputs:
  - name: version
    description: What is released, such as 1.4
  - name: channel
    default: stable
  - name: note
    required: false
---
Tag ${version} and publish it to ${channel}. [${note}] Leave ${HOME} alone."""


def started(conversations: Conversations, *, path: str = ".agents/skills/release.md", text: str = RELEASE):
    file = conversations.workspace / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return conversations.create(agent={"agent_context": {"load_project_skills": True}})


def added(conversation: ConversationEngine) -> list[str]:
    """Returns, for each message of the user, the text of the skills that was added to the message."""
    messages = [event for event in of_kind(conversation, "MessageEvent") if event["source"] == "user"]
    return ["\n".join(part["text"] for part in event["extended_content"]) for event in messages]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("/release 1.4", "Tag 1.4 and publish it to stable. [] Leave ${HOME} alone."),
        ("  /RELEASE 1.4 beta", "Tag 1.4 and publish it to beta. [] Leave"),
        ("/release channel=beta 1.4", "Tag 1.4 and publish it to beta. [] Leave"),
        ("/release '1.4 rc' beta for our testers", "Tag 1.4 rc and publish it to beta. [for our testers]"),
        ("/release 1.4 beta don't tell", "Tag 1.4 and publish it to beta. [don't tell]"),
        ("/release 1.4 other=2", "Tag 1.4 and publish it to other=2."),
        ("/release version=${channel}", "Tag ${channel} and publish it to stable."),
    ],
)
async def test_what_follows_the_name_takes_its_place_in_the_text(
    conversations: Conversations, message: str, text: str
):
    conversation = started(conversations)

    conversation.send(user(message))

    assert text in added(conversation)[0]
    assert "Ask for it" not in added(conversation)[0]


async def test_the_agent_is_told_to_ask_for_what_is_missing(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Which version?"))
    conversation = started(conversations)
    conversation.send(user("/release channel=beta"))

    await conversation.run()

    told = scripted_llm.requests[0].last_text
    assert "Tag ${version} and publish it to beta." in told
    asked = told.partition("Ask for it")[2]
    assert "- version: What is released, such as 1.4" in asked
    assert "note" not in asked


async def test_it_can_be_called_again_with_other_inputs(conversations: Conversations):
    conversation = started(conversations)

    for version in ("1.4", "1.5"):
        conversation.send(user(f"/release {version}"))

    assert ["Tag 1.4" in added(conversation)[0], "Tag 1.5" in added(conversation)[1]] == [True, True]
    assert conversation.info().activated_knowledge_skills == ["release"]


async def test_only_the_whole_first_word_calls_it(conversations: Conversations):
    conversation = started(conversations)

    for text in ("/releases 1.4", "see docs/release 1.4", "release 1.4"):
        conversation.send(user(text))

    assert added(conversation) == ["", "", ""]


async def test_a_client_sends_them_as_the_protocol_has_them(conversations: Conversations):
    skill: dict[str, Any] = {
        "name": "greet",
        "content": "Say hello to ${who}.",
        "trigger": {"type": "task", "triggers": ["/greet"]},
        "inputs": [{"name": "who", "description": "Whom"}],
    }
    conversation = conversations.create(agent={"agent_context": {"skills": [skill]}})

    conversation.send(user("/greet the world"))

    assert "Say hello to the world." in added(conversation)[0]


async def test_an_agent_that_reads_one_itself_learns_what_it_needs(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("invoke_skill", name="release"), say("."))
    text = RELEASE.replace("name: release\n", "name: release\ndescription: How to release.\n")
    conversation = started(conversations, path=".agents/skills/release/SKILL.md", text=text)
    conversation.send(user("Release it."))

    await conversation.run()

    told = scripted_llm.requests[1].last_text
    assert "publish it to stable" in told
    assert "- version: What is released" in told


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ("inputs: version", "`inputs` in its front matter is not a list of fields"),
        ("inputs: [version]", "`inputs` in its front matter is not a list of fields"),
        ("inputs: [{name: 'a b'}]", "`name` of an input in its front matter is not valid"),
        ("inputs: [{description: x}]", "`name` of an input in its front matter is not valid"),
        ("inputs: [{name: a, required: [1]}]", "`required` of an input in its front matter is not valid"),
    ],
)
async def test_inputs_that_make_no_sense_are_reported(conversations: Conversations, inputs: str, reason: str):
    conversation = started(conversations, text=f"---\n{inputs}\n---\nText.")

    (finding,) = conversation.spec.project.findings

    assert (finding.is_loaded, finding.reason) == (False, reason)
