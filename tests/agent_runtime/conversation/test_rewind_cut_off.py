"""Tests of checkpoints and rewinds in a process that is killed while it works."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.log import LogInUseError
from agent_runtime.wire import CheckpointKind, RewindRequest
from agent_runtime.workspace.restore_files import TEMPORARY_PREFIX
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.agent_runtime.conversation.workspace_files import files_of
from tests.support.scripted_llm import ScriptedLLM, call, say

FILES = 1_500
CHANGE_ALL = "for f in *.txt; do echo agent > $f; done; echo new > new"

OPEN = """
import asyncio, sys
from pathlib import Path
from agent_runtime.conversation.creation import open_conversation
from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.checkpoints.triggers import position
from agent_runtime.llm.complete import LLMClient
from agent_runtime.wire import CheckpointKind, RewindRequest

async def main():
    conversation = open_conversation(Path(sys.argv[1]), LLMClient())
    {work}

asyncio.run(main())
"""
REWIND = "await rewind(conversation, int(sys.argv[2]), RewindRequest())"
TAKE = (
    "await conversation.checkpoints.take(CheckpointKind.TURN, position(conversation.state), by_others=True)"
)


def killed_when(is_so: Callable[[], bool], work: str, *arguments: str) -> None:
    """Runs `work` in another process and kills this process as soon as `is_so` returns true."""
    command = [sys.executable, "-c", OPEN.format(work=work), *arguments]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 60
        while not is_so():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
        process.wait()


async def reopened(conversations: Conversations) -> ConversationEngine:
    async with asyncio.timeout(60):
        while True:
            try:
                return conversations.reopen()
            except LogInUseError:  # a program that was started during the kill can hold the lock for a moment
                await asyncio.sleep(0.01)


async def at_rest(conversation: ConversationEngine) -> None:
    """Waits until the conversation is idle: when it is opened, it first completes a rewind
    that was cut off.
    """
    async with asyncio.timeout(60):
        while conversation.is_busy:  # noqa: ASYNC110 (nobody is told of that)
            await asyncio.sleep(0.01)


async def changed(conversations: Conversations, llm: ScriptedLLM) -> ConversationEngine:
    """Runs a conversation whose agent changes FILES files, and returns the conversation."""
    conversation = conversations.create()
    for number in range(FILES):
        conversations.workspace.joinpath(f"{number}.txt").write_text(f"{number}\n")
    llm.script(call("terminal", command=CHANGE_ALL), say("Done."))
    conversation.send(user("Go."))
    await conversation.run()
    return conversation


async def test_a_rewind_that_was_killed_is_completed(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = await changed(conversations, scripted_llm)
    workspace = conversations.workspace
    first = conversation.checkpoints.list().checkpoints[0].id
    directory = str(conversation.directory)
    await conversation.close()

    killed_when(
        lambda: any((workspace / f"{n}.txt").read_text() == f"{n}\n" for n in (1, 10, 100, 1000)),
        REWIND,
        directory,
        str(first),
    )
    assert (workspace / "0.txt").exists()
    workspace.joinpath("new").write_text("mine")
    workspace.joinpath(f"{TEMPORARY_PREFIX}0").write_text("half of a fi")  # as a kill during a copy
    again = await reopened(conversations)
    await at_rest(again)

    expected = {f"{n}.txt": ("file", f"{n}\n".encode()) for n in range(FILES)}
    assert files_of(workspace) == {**expected, "new": ("file", b"mine")}
    assert not again.state.has_work
    updates = of_kind(again, "ConversationStateUpdateEvent")
    told = [e["value"]["rewind"] for e in updates if e["key"] == "agent_state" and "rewind" in e["value"]]
    assert len(told) == 1
    # Before the rewind, the former files were stored in a checkpoint. A rewind to it brings these files back.
    await rewind(again, told[0]["undo"], RewindRequest(on_edits="keep"))
    assert (workspace / "7.txt").read_text() == "agent\n"
    assert (workspace / "new").read_text() == "mine"


async def test_a_checkpoint_that_was_killed_harms_nothing(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = await changed(conversations, scripted_llm)
    workspace = conversations.workspace
    directory = conversation.directory
    await conversation.close()
    for number in range(FILES):
        workspace.joinpath(f"{number}.txt").write_text("mine\n")
    drafts = Path(directory, "checkpoints.git")

    killed_when(lambda: any(drafts.glob("index-*")), TAKE, str(directory))
    again = await reopened(conversations)
    scripted_llm.script(call("terminal", command=CHANGE_ALL), say("Done."))
    again.send(user("Once more."))
    await again.run()
    turns = [one for one in again.checkpoints.list().checkpoints if one.kind is CheckpointKind.TURN]
    await rewind(again, turns[-1].id, RewindRequest())

    assert {file for path, file in files_of(workspace).items() if path != "new"} == {("file", b"mine\n")}
    assert not [path for path in files_of(drafts) if path.startswith("index-")]
