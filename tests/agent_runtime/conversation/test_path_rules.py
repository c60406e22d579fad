"""Instructions for certain paths reach the model when it first uses such a path. They stay in what the model
sees.
"""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.replay import replay
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.agent_runtime.conversation.labour import agent_requests, asks_for_summary, condenser, texts, think
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, calls, say

SPACES = "Use spaces in web."
FILES = {"AGENTS.md": "Use tabs.", "web/AGENTS.md": SPACES, "web/app.ts": "let a\n", "app.py": "a = 1\n"}
ALL_TOOLS = ["terminal", "file_editor", "apply_patch", "glob", "grep", "read_file", "write_file", "edit"]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def started(conversations: Conversations, files: dict[str, str] = FILES, **agent: Any) -> ConversationEngine:
    write(conversations.workspace, files)
    context = {"load_project_skills": True}
    tools = [{"name": name} for name in ALL_TOOLS]
    conversation = conversations.create(agent={"agent_context": context, "tools": tools, **agent})
    conversation.send(user("Go."))
    return conversation


def given(conversation: ConversationEngine) -> list[str]:
    """Returns, for each tool result, the text of the instructions that were added to it."""
    results = of_kind(conversation, "ObservationEvent")
    return ["".join(part["text"] for part in result["extended_content"]) for result in results]


PATCH = "*** Begin Patch\n*** Add File: web/new.ts\n+let b\n*** End Patch"


@pytest.mark.parametrize(
    "touching",
    [
        lambda at: call("file_editor", command="view", path=f"{at}/web/app.ts"),
        lambda at: call("apply_patch", patch=PATCH),
        lambda at: call("read_file", file_path="web/app.ts"),
        lambda at: call("write_file", file_path=f"{at}/web/deep/er.ts", content="x"),
        lambda at: call("edit", file_path="web/app.ts", old_string="a", new_string="b"),
        lambda at: call("glob", pattern="*.ts", path=f"{at}/web"),
        lambda at: call("glob", pattern="web/**/*.ts"),
        lambda at: call("grep", pattern="let", path=f"{at}/web"),
        lambda at: call("terminal", command="cat web/app.ts"),
        lambda at: call("terminal", command="cat < 'web/app.ts' | wc -l"),
        lambda at: call("terminal", command="cd web && ls"),
        lambda at: call("terminal", command="ls --color=never --ignore=web/x ."),
    ],
)
async def test_the_first_result_that_touches_a_directory_carries_its_instructions(
    conversations: Conversations, scripted_llm: ScriptedLLM, touching: Any
):
    elsewhere = call("terminal", command="cat app.py")
    scripted_llm.script(
        elsewhere, touching(conversations.workspace), touching(conversations.workspace), say(".")
    )
    conversation = started(conversations)

    await conversation.run()

    first, second, third = given(conversation)
    assert (first, third) == ("", "")
    assert SPACES in second
    assert SPACES in scripted_llm.requests[2].last_text
    assert SPACES not in texts(scripted_llm.requests[1])[-1]


async def test_calls_side_by_side_get_them_once(conversations: Conversations, scripted_llm: ScriptedLLM):
    view = ("read_file", {"file_path": "web/app.ts"})
    scripted_llm.script(calls(view, view, view), say("."))
    conversation = started(conversations, tool_concurrency_limit=3)

    await conversation.run()

    assert sorted(map(bool, given(conversation))) == [False, False, True]


async def test_a_call_that_could_not_run_gets_none(conversations: Conversations, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("file_editor", path=f"{conversations.workspace}/web/app.ts"), say("."))
    conversation = started(conversations)

    await conversation.run()

    assert SPACES not in "".join(texts(scripted_llm.requests[-1]))


async def test_names_with_the_characters_of_patterns_mean_themselves(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.script(
        call("read_file", file_path="app/i/page.ts"),
        call("read_file", file_path="app/[id]/page.ts"),
        say("."),
    )
    files = {"app/[id]/AGENTS.md": SPACES, "app/[id]/page.ts": "1", "app/i/page.ts": "1"}
    conversation = started(conversations, files)

    await conversation.run()

    assert list(map(bool, given(conversation))) == [False, True]


@pytest.mark.parametrize(
    ("front_matter", "path", "holds"),
    [
        ("paths: ['src/**/*.ts']", "src/a/b.ts", True),
        ("paths: 'docs/**, *.ts'", "src/a/b.ts", True),
        ("globs: '**/*.{ts,tsx}'", "src/a/b.ts", True),
        ("paths: [src]", "src/a/b.ts", True),
        ("paths: ['./src/']", "src/a/b.ts", True),
        ("paths: ['**']", "src/a/b.ts", True),
        ("paths: ['src/*.ts']", "src/a/b.ts", False),
        ("paths: ['[']", "src/a/b.ts", False),
        ("paths: ['/a/b.ts']", "src/a/b.ts", False),
    ],
)
async def test_a_rule_says_by_globs_what_it_holds_for(
    conversations: Conversations, scripted_llm: ScriptedLLM, front_matter: str, path: str, holds: bool
):
    rule = f"---\nname: typed\ntriggers: [go]\n{front_matter}\n---\nNo any."
    scripted_llm.script(call("read_file", file_path=path), say("."))
    conversation = started(conversations, {".agents/skills/typed.md": rule, path: "x"})

    await conversation.run()

    assert bool(given(conversation)[0]) is holds
    assert of_kind(conversation, "MessageEvent")[0]["activated_skills"] == []


async def test_a_client_sends_rules_as_the_protocol_has_them(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    rule = {"name": "py", "content": "Type it.", "trigger": {"type": "path", "paths": ["*.py"]}}
    scripted_llm.script(call("terminal", command="cat app.py"), say("."))
    conversation = started(conversations, agent_context={"skills": [rule]})

    await conversation.run()

    assert "Type it." in given(conversation)[0]


def forgetting(steps: list[Turn]) -> Any:
    """Returns a model that gives these turns in order, and a summary whenever the condenser asks for one."""
    left = iter(steps)

    def answer(request: Request) -> Turn:
        return say("SUMMARY") if asks_for_summary(request) else next(left)

    return answer


async def test_what_was_given_outlives_condensations_restarts_and_a_replay(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    view = call("read_file", file_path="web/app.ts")
    thoughts = [think(f"{number}") for number in range(20)]
    scripted_llm.fallback = forgetting([view, *thoughts, view, say("."), view, say(".")])
    agent = {"condenser": condenser(scripted_llm, max_size=10)}
    conversation = started(conversations, **agent)
    await conversation.run()
    await conversation.close()
    again = conversations.reopen()
    again.run_context.agent = conversation.agent
    again.send(user("Once more."))

    await again.run()

    condensations = of_kind(again, "Condensation")
    assert len(condensations) > 2
    assert [bool(text) for text in given(again) if SPACES in text] == [True]
    for request in agent_requests(scripted_llm)[1:]:
        assert "".join(texts(request)).count(SPACES) == 1
    prompts = [b"".join(prompt.messages) for prompt in replay(again.log, "agent")]
    assert all(prompt.count(SPACES.encode()) == 1 for prompt in prompts[1:])


async def test_a_rule_is_given_again_after_going_back_to_before_it(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    view = call("read_file", file_path="web/app.ts")
    scripted_llm.script(view, say("."), view, say("."))
    conversation = started(conversations)
    message = of_kind(conversation, "MessageEvent")[0]["id"]
    await conversation.run()
    go_back(conversation, message)

    await conversation.run()

    assert [SPACES in text for text in given(conversation)] == [True, True]
    assert "".join(texts(scripted_llm.requests[-1])).count(SPACES) == 1


async def test_rules_that_are_too_long_to_repeat_are_named(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    names = ["a", "b", "c"]
    views = [call("read_file", file_path=f"{name}/x") for name in names]
    scripted_llm.fallback = forgetting([*views, *[think(f"{n}") for n in range(12)], say(".")])
    files = {f"{name}/AGENTS.md": f"{name} rules ".ljust(40_000, name) for name in names}
    agent = {"condenser": condenser(scripted_llm, max_size=10)}
    conversation = started(conversations, {**files, **{f"{name}/x": "x" for name in names}}, **agent)

    await conversation.run()

    last = "".join(texts(agent_requests(scripted_llm)[-1]))
    assert "c rules" in last
    assert "a rules" not in last
    assert "- a/AGENTS.md" in last.partition("too long to repeat")[2]
