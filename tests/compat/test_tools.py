"""The SDK client's own models parse the actions and observations of our tools."""

from pathlib import Path

import openhands.tools.apply_patch  # the client knows the kinds of tools that it has imported
import openhands.tools.gemini
import openhands.tools.glob
import openhands.tools.grep
import openhands.tools.planning_file_editor  # noqa: F401
from openhands.sdk import Agent, Tool
from openhands.sdk.event import ActionEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.preset.default import get_default_agent

from tests.compat.conftest import Begin, make_llm, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, calls, say

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch"
STEPS = [
    ("terminal", {"command": "echo hi; exit 3"}, "Terminal"),
    ("terminal", {"command": "read line; echo got $line", "timeout": 0.2}, "Terminal"),
    ("terminal", {"command": "hello", "is_input": True}, "Terminal"),
    ("terminal", {"command": "", "reset": True}, "Terminal"),
    ("terminal", {"command": r"printf '\033[31mred\033[0m\n'"}, "Terminal"),  # with styles in its metadata
    ("file_editor", {"command": "create", "path": "{work}/a.txt", "file_text": "one\ntwo\n"}, "FileEditor"),
    ("file_editor", {"command": "view", "path": "{work}/a.txt", "view_range": [1, 2]}, "FileEditor"),
    (
        "file_editor",
        {"command": "str_replace", "path": "{work}/a.txt", "old_str": "two", "new_str": "2"},
        "FileEditor",
    ),
    (
        "file_editor",
        {"command": "insert", "path": "{work}/a.txt", "insert_line": 1, "new_str": "x"},
        "FileEditor",
    ),
    ("file_editor", {"command": "undo_edit", "path": "{work}/a.txt"}, "FileEditor"),
    ("file_editor", {"command": "view", "path": "{work}"}, "FileEditor"),
    ("file_editor", {"command": "view", "path": "{work}/nothing"}, "FileEditor"),
    (
        "task_tracker",
        {"command": "plan", "task_list": [{"title": "t", "status": "in_progress"}]},
        "TaskTracker",
    ),
    ("task_tracker", {"command": "view"}, "TaskTracker"),
    ("glob", {"pattern": "*.txt"}, "Glob"),
    ("grep", {"pattern": "one", "include": "*.txt"}, "Grep"),
    ("apply_patch", {"patch": PATCH}, "ApplyPatch"),
    ("apply_patch", {"patch": "no patch"}, "ApplyPatch"),
    (
        "planning_file_editor",
        {"command": "create", "path": "{work}/.agents_tmp/PLAN.md", "file_text": "# Plan\n"},
        "PlanningFileEditor",
    ),
    ("write_file", {"file_path": "{work}/g.txt", "content": "old\n"}, "WriteFile"),
    ("edit", {"file_path": "{work}/g.txt", "old_string": "old", "new_string": "new"}, "Edit"),
    ("read_file", {"file_path": "{work}/g.txt", "limit": 1}, "ReadFile"),
    ("list_directory", {"dir_path": "{work}", "recursive": True}, "ListDirectory"),
    ("think", {"thought": "hm"}, "Think"),
    ("finish", {"message": "Done."}, "Finish"),
]
TOOLS = dict.fromkeys(name for name, _, _ in STEPS if name not in {"think", "finish"})


def test_every_tools_action_and_observation_is_the_clients_own(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    for name, arguments, _ in STEPS:
        placed = {
            key: value.replace("{work}", workspace.working_dir) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        scripted_llm.script(calls((name, placed)))
    conversation = begin(*TOOLS)
    conversation.send_message("Use them all.")
    conversation.run(timeout=PATIENCE_SECONDS)

    actions = only(conversation.state.events, ActionEvent)
    observations = only(conversation.state.events, ObservationEvent)
    assert [(action.tool_name, action.action.kind) for action in actions] == [
        (name, f"{stem}Action") for name, _, stem in STEPS
    ]
    assert [(result.tool_name, result.observation.kind) for result in observations] == [
        (name, f"{stem}Observation") for name, _, stem in STEPS
    ]
    for result in observations:
        assert type(result.observation).__name__ == result.observation.kind
        assert type(result.observation).__module__.startswith("openhands.")
    assert (Path(workspace.working_dir) / "new.txt").read_text() == "hello\n"


def test_what_our_tools_do_beyond_the_protocol_comes_in_kinds_that_the_client_knows(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    (Path(workspace.working_dir) / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    scripted_llm.script(
        calls(("terminal", {"command": "echo in a session of its own", "session": "build"})),
        calls(("view_image", {"path": "x.png"})),
        say("Seen."),
    )
    tools = [Tool(name="terminal", params={"sessions": 2}), Tool(name="view_image")]
    conversation = begin(agent=Agent(llm=make_llm(scripted_llm), tools=tools))
    conversation.send_message("Look.")
    conversation.run(timeout=PATIENCE_SECONDS)

    results = only(conversation.state.events, ObservationEvent)
    assert [result.observation.kind for result in results] == ["TerminalObservation", "FileEditorObservation"]
    assert "in a session of its own" in results[0].observation.text
    assert results[1].observation.content[1].image_urls[0].startswith("data:image/png;base64,")


def test_the_tools_the_agent_was_given_are_the_clients_own(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Hello."))
    conversation = begin(*TOOLS)
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    (prompt,) = only(conversation.state.events, SystemPromptEvent)
    assert {tool.name for tool in prompt.tools} == {*TOOLS, "finish", "think"}
    assert all(type(tool).__module__.startswith("openhands.") for tool in prompt.tools)


def test_the_default_agent_of_the_tools_package_works(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(calls(("finish", {"message": "Done."})))
    conversation = begin(agent=get_default_agent(llm=make_llm(scripted_llm), cli_mode=True))
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert {"terminal", "file_editor", "task_tracker"} <= set(scripted_llm.requests[0].tool_names)
