"""If a file has not changed, a second view of it gives a reference to the first result instead of the
content.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, Turn, call, calls, say

POINTER = "still holds"
LONG = "".join(f"line {number}\n" for number in range(200))


@pytest.fixture
async def path(conversations: Conversations) -> Path:
    """Returns a long file that is so old that each later change gives it another time of change."""
    conversations.workspace.mkdir()
    file = conversations.workspace / "long.txt"
    file.write_text(LONG)
    await settled(file)
    return file


async def settled(*places: Path) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while time.time() - max(os.lstat(place).st_ctime for place in places) < 0.2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def view(path: Path, **more: Any) -> Turn:
    return call("file_editor", command="view", path=str(path), **more)


def answers(conversation: ConversationEngine) -> list[str]:
    """Returns the result texts of the file editor's calls, in order."""
    seen = [
        event for event in of_kind(conversation, "ObservationEvent") if "file_editor" in event["tool_name"]
    ]
    return [event["observation"]["content"][0]["text"] for event in seen]


async def run(conversations: Conversations, *turns: Any, **request: Any) -> ConversationEngine:
    conversations.llm.script(*turns, say("Done."))
    conversation = conversations.create(**request)
    conversation.send(user("Read."))
    await conversation.run()
    return conversation


async def test_a_second_look_points_to_the_first_and_a_third_shows_it_again(
    conversations: Conversations, path: Path
):
    conversation = await run(conversations, view(path), call("think", thought="hm"), *[view(path)] * 2)

    first, second, third = answers(conversation)
    assert "line 199" in first
    assert POINTER in second
    assert "line 199" not in second
    assert third == first


async def test_it_holds_after_a_restart_and_for_the_next_message(
    conversations: Conversations, scripted_llm: ScriptedLLM, path: Path
):
    conversation = await run(conversations, view(path))
    await conversation.close()
    scripted_llm.script(view(path), say("Again."))

    reopened = conversations.reopen()
    reopened.send(user("Again."))
    await reopened.run()

    assert POINTER in answers(reopened)[1]
    assert POINTER in scripted_llm.requests[-1].last_text


def outside(change: Callable[[Path], object]) -> Callable[[Path], Callable[[Any], Turn]]:
    """Returns a function that makes a turn for a path: the test applies `change` to the file, and then the
    agent views it.
    """

    def make(path: Path) -> Callable[[Any], Turn]:
        def answer(_: Any) -> Turn:
            change(path)
            return view(path)

        return answer

    return make


def put_an_older_file_in_its_place(path: Path) -> None:
    path.with_name("older.txt").replace(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(LONG.replace("199", "200")),
        lambda path: os.utime(path, (0, 0)),
        lambda path: (path.write_text(LONG.replace("199", "200")), os.utime(path, (0, 0))),
        lambda path: (path.parent / "other.txt").write_text("x"),
        put_an_older_file_in_its_place,
    ],
)
async def test_what_was_touched_from_outside_is_read_again(conversations: Conversations, path: Path, change):
    path.with_name("older.txt").write_text(LONG.replace("199", "older"))
    await settled(path.with_name("older.txt"), path.parent)

    conversation = await run(conversations, view(path), outside(change)(path))

    assert POINTER not in answers(conversation)[1]
    assert answers(conversation)[1].count("line") == 200 + answers(conversation)[1].count("lines")


async def test_after_a_command_everything_is_read_again(conversations: Conversations, path: Path):
    conversation = await run(conversations, view(path), call("terminal", command="true"), view(path))

    assert answers(conversation)[1] == answers(conversation)[0]


async def test_other_lines_short_files_links_and_directories_are_read(
    conversations: Conversations, path: Path
):
    short, link = path.with_name("short.txt"), path.with_name("link.txt")
    short.write_text("x\n")
    link.symlink_to(path)
    await settled(short, link, path.parent)
    looked_at = (path, short, short, link, link, path.parent, path.parent)

    conversation = await run(
        conversations, *(view(each) for each in looked_at), view(path, view_range=[1, 150])
    )

    assert not any(POINTER in answer for answer in answers(conversation))


async def test_calls_of_one_reply_are_all_answered_in_full(conversations: Conversations, path: Path):
    twice = calls(*[("file_editor", {"command": "view", "path": str(path), "summary": s}) for s in "ab"])

    conversation = await run(conversations, twice, agent={"tool_concurrency_limit": 2})

    assert answers(conversation)[0] == answers(conversation)[1]


async def test_beside_hooks_nothing_is_reused(conversations: Conversations, path: Path):
    hooks = {"post_tool_use": [{"matcher": "*", "hooks": [{"type": "command", "command": "true"}]}]}

    conversation = await run(conversations, view(path), view(path), hook_config=hooks)

    assert answers(conversation)[1] == answers(conversation)[0]
