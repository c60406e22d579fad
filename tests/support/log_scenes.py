"""The scenes of the recorded logs: each scene is a real run of the agent engine with a scripted model."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.events.content import ImageContent, TextContent
from agent_runtime.events.message import Message
from tests.agent_runtime.conversation.labour import think
from tests.support.log_acts import (
    Act,
    Stage,
    approved,
    condensed,
    condensed_on_request,
    cut_off,
    fallback,
    forked,
    goal,
    interrupted_command,
    interrupted_reply,
    message_meanwhile,
    paused,
    prompt_too_long,
    rejected,
    renamed,
    unfinished,
    went_back,
)
from tests.support.scripted_llm import Request, Turn, call, calls, cut, fail, say

PIXEL = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01"
SAME = call("terminal", command="echo same")
SKILL = "---\nname: {0}\ndescription: How to {0}.\n{1}---\nFirst think, then {0}.\n"


@dataclass(frozen=True)
class Scene:
    """A scene: a run of the agent engine whose event log is recorded. turns: the replies of the model; if it
    has only one item and this is a function, the function makes all replies. act: a function that plays the
    scene; None if the scene only sends `messages` one after the other.
    """

    name: str
    turns: tuple[Any, ...] = ()
    request: dict[str, Any] = field(default_factory=dict)
    messages: tuple[str | Message, ...] = ("Go.",)
    files: dict[str, bytes | str] = field(default_factory=dict)
    act: Act | None = None

    async def play(self, stage: Stage) -> ConversationEngine:
        """Runs the scene and returns the conversation at its end."""
        for path, content in self.files.items():
            target = stage.conversations.workspace / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        if len(self.turns) == 1 and callable(self.turns[0]):
            stage.llm.fallback = self.turns[0]
        else:
            stage.llm.script(*self.turns)
        if self.act is not None:
            return await self.act(stage)
        return await stage.talk(stage.create(**self.request), *self.messages)


def scene(name: str, *turns: Any, **fields: Any) -> Scene:
    request = {key: fields.pop(key) for key in tuple(fields) if key not in {"messages", "files", "act"}}
    return Scene(name, turns, request, **fields)


def at_workspace(tool: str, path: str, **arguments: Any) -> Callable[[Request], Turn]:
    """Returns a function that makes a turn (a reply of the model) with a call of `tool`. The call's argument
    `path` is the absolute path of `path` in the workspace. The function finds the workspace in the request.
    """

    def answer(request: Request) -> Turn:
        system = str(request.messages[0]["content"])
        workspace = system.partition("working directory is ")[2].partition(". ")[0]
        return call(tool, path=f"{workspace}/{path}", **arguments)

    return answer


def hook(point: str, line: str) -> dict[str, Any]:
    return {point: [{"matcher": "*", "hooks": [{"type": "command", "command": line}]}]}


EDITOR = ["file_editor"]
PRICED = {"input_cost_per_token": 0.01, "output_cost_per_token": 0}
PICTURE = Message(
    role="user",
    content=[
        TextContent(text="See?"),
        ImageContent(image_urls=["data:image/png;base64," + base64.b64encode(PIXEL).decode()]),
    ],
)
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: old.txt\n-a\n+b\n*** End Patch"

SCENES: tuple[Scene, ...] = (
    scene("a-reply", say("Hello.")),
    scene("reasoning", say("Hello.", reasoning="The user greets.", reasoning_tokens=4)),
    scene("two-messages", say("One."), say("Two."), messages=("First.", "Second.")),
    # Tools
    scene(
        "terminal",
        call("terminal", command="cd /; echo out; echo err >&2; false", thought="Look."),
        say("So."),
    ),
    scene("terminal-ended", call("terminal", command="exit 7"), call("terminal", command="pwd"), say("So.")),
    scene(
        "terminal-input",
        call("terminal", command="read -p 'name? ' n; echo hello $n", timeout=0.3),
        call("terminal", command="you", is_input=True),
        say("Greeted."),
    ),
    scene(
        "terminal-sessions",
        calls(
            ("terminal", {"command": "echo a", "session": "a"}),
            ("terminal", {"command": "echo b", "session": "b"}),
        ),
        say("Both."),
        agent={
            "tools": [{"name": "terminal", "params": {"sessions": 2}}],
            "tool_concurrency_limit": 2,
        },
    ),
    scene(
        "file-editor",
        at_workspace("file_editor", "a.py", command="create", file_text="x = 1\n"),
        at_workspace("file_editor", "a.py", command="str_replace", old_str="1", new_str="2"),
        at_workspace("file_editor", "a.py", command="insert", insert_line=1, new_str="y = 3"),
        at_workspace("file_editor", "a.py", command="undo_edit"),
        at_workspace("file_editor", "a.py", command="view"),
        say("Edited."),
        tools=EDITOR,
    ),
    scene("file-editor-fails", at_workspace("file_editor", "no", command="view"), say("So."), tools=EDITOR),
    scene(
        "searches",
        calls(("grep", {"pattern": "needle"}), ("glob", {"pattern": "*.txt"})),
        say("Found."),
        tools=["grep", "glob"],
        files={"hay.txt": "a needle\n"},
    ),
    scene(
        "apply-patch",
        call("apply_patch", patch=PATCH),
        say("Patched."),
        tools=["apply_patch"],
        files={"old.txt": "a\n"},
    ),
    scene(
        "task-tracker",
        call("task_tracker", command="plan", task_list=[{"title": "One", "status": "in_progress"}]),
        call("task_tracker", command="view"),
        say("Planned."),
        tools=["task_tracker"],
    ),
    scene("think-and-finish", think("Hm."), call("finish", message="Done.")),
    scene(
        "files-of-gemini",
        call("write_file", file_path="b.txt", content="one\n"),
        call("edit", file_path="b.txt", old_string="one", new_string="two"),
        call("read_file", file_path="b.txt"),
        call("list_directory", dir_path="."),
        say("Written."),
        tools=["write_file", "edit", "read_file", "list_directory"],
    ),
    scene(
        "planning",
        at_workspace("planning_file_editor", ".agents_tmp/PLAN.md", command="view"),
        say("Planned."),
        tools=["planning_file_editor"],
    ),
    scene(
        "image-of-a-tool",
        call("view_image", path="x.png"),
        say("Small."),
        tools=["view_image"],
        llm={"model": "openai/gpt-4o"},
        files={"x.png": PIXEL},
    ),
    scene("image-of-the-user", say("Small."), messages=(PICTURE,), llm={"model": "openai/gpt-4o"}),
    scene(
        "skill-read",
        call("invoke_skill", name="deploy"),
        say("Read."),
        files={".agents/skills/deploy/SKILL.md": SKILL.format("deploy", "")},
        agent={"agent_context": {"load_project_skills": True}},
    ),
    scene(
        "skill-triggered",
        say("I know how."),
        say("I still know."),
        messages=("Please release it.", "Please release it again."),
        files={".agents/skills/release.md": SKILL.format("release", "triggers: [release]\n")},
        agent={"agent_context": {"load_project_skills": True}},
    ),
    # Errors
    scene("unknown-tool", call("no_such_tool"), say("I see.")),
    scene("wrong-arguments", call("terminal", cwd="/"), say("I see.")),
    scene("broken-arguments", calls(("terminal", '{"command": ')), say("I see.")),
    scene("familiar-name", call("execute_bash", command="echo hi"), say("I see.")),
    scene("empty-replies", say(""), say(""), say(""), messages=("Go.",)),
    scene("cut-reply", say("Half a", finish_reason="length"), say("sentence.")),
    scene("lost-connection", cut(say("half a sentence"), after=2), say("A whole sentence.")),
    scene("retried", fail(503, retry_after=0), fail(429, retry_after=0), say("At last.")),
    scene("refused", fail(401)),
    scene("refused-then-run-again", fail(400, error="no"), say("Now."), messages=("Go.", "Again.")),
    scene("too-many-steps", think("a"), think("b"), max_iterations=2),
    scene(
        "budget",
        think("a", prompt_tokens=100),
        think("b", prompt_tokens=100),
        say("Done.", prompt_tokens=100),
        messages=("Go.", "Go on."),
        llm={**PRICED, "max_budget_per_task": 1.5},
    ),
    scene("price-unknown", say("Hello."), llm={"max_budget_per_task": 1}),
    scene("fallback", act=fallback),
    # Several tool calls in one reply
    scene(
        "side-by-side",
        calls(("terminal", {"command": "echo one"}), ("think", {"thought": "hm"}), ("no_such_tool", {})),
        say("Done."),
        agent={"tool_concurrency_limit": 4},
    ),
    scene(
        "nothing-after-finish",
        calls(("think", {"thought": "a"}), ("finish", {"message": "Done."}), ("think", {"thought": "b"})),
    ),
    scene("same-call-id", *[call("think", thought=t, call_id="same") for t in "ab"], say("Done.")),
    # Condensing
    scene("condensed", act=condensed(20, max_size=16, keep_first=2)),
    scene("condensed-over-and-over", act=condensed(40, max_size=12, keep_first=1)),
    scene("condensed-by-tokens", act=condensed(14, max_tokens=900, keep_first=2)),
    scene("condensed-on-request", act=condensed_on_request),
    scene("prompt-too-long", act=prompt_too_long),
    # Branches
    scene("forked", act=forked(None)),
    scene("forked-from-an-event", act=forked(1, reset_metrics=False)),
    scene("went-back", act=went_back(1)),
    scene("went-back-to-the-beginning", act=went_back(None)),
    # Stopping
    scene("interrupted-command", act=interrupted_command),
    scene("interrupted-reply", act=interrupted_reply),
    scene("paused", act=paused),
    scene("cut-off-and-reopened", act=cut_off),
    scene("cut-off", act=unfinished),
    scene("messages-meanwhile", act=message_meanwhile),
    # Going in circles
    scene("nudged", *[SAME] * 4, call("finish", message="Right.")),
    scene("stuck-and-told", *[SAME] * 5, say("Done."), messages=("Go.", "Stop that.")),
    scene(
        "stuck-and-asking",
        *[SAME] * 5,
        say("Which?"),
        say("Done."),
        messages=("Go.", "A."),
        ask_when_stuck=True,
    ),
    # Other ways of asking a model
    scene(
        "prompted-tools",
        say("Look.\n<function=terminal>\n<parameter=command>echo hi</parameter>\n"),
        say("<function=finish><parameter=message>Done.</parameter></function>"),
        llm={"native_tool_calling": False},
    ),
    scene(
        "responses",
        calls(("think", {"thought": "x"}), reasoning="Because.", encrypted_reasoning="c2VjcmV0"),
        say("Done."),
        llm={"api_mode": "responses"},
    ),
    scene(
        "thinking-blocks",
        calls(
            ("think", {"thought": "x"}),
            thinking_blocks=({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},),
        ),
        say("Done."),
        llm={"model": "openai/claude-sonnet-4-5"},
    ),
    # What the user decides
    scene("approved", call("terminal", command="echo ok"), say("Done."), act=approved),
    scene("rejected", call("terminal", command="echo no"), say("I see."), act=rejected),
    scene(
        "goal",
        say("Done, I believe."),
        say('{"complete": false, "score": 0.2, "missing": "Run the tests."}'),
        call("finish", message="They pass."),
        say('{"complete": true, "score": 1, "missing": ""}'),
        act=goal,
    ),
    scene(
        "hook-refuses",
        call("terminal", command="echo no"),
        say("I see."),
        hook_config=hook("pre_tool_use", "echo 'not here' >&2; exit 2"),
    ),
    scene("titled", say("A greeting"), say("Hello."), autotitle=True),
    scene("renamed", say("Hello."), act=renamed),
)
