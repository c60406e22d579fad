"""Tests with a hundred random histories: an agent and its user change files, and rewinds happen at random."""

import random
import subprocess
from pathlib import Path

import pytest

from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import EditedSinceError
from agent_runtime.wire import CheckpointKind, RewindRequest
from tests.agent_runtime.conversation.conftest import Conversations, user
from tests.agent_runtime.conversation.workspace_files import Files, files_of, git
from tests.support.scripted_llm import ScriptedLLM, call, say

PATHS = ("a", "b", "d", "d/a", "d/b", "d/e/f", "c.txt", "é ñ", "inner/x", "inner/y")


def deed(chance: random.Random) -> str:
    """Returns a random shell command that creates, changes, moves, links or deletes a file."""
    path, other = chance.sample(PATHS, 2)
    content = chance.choice(("1", "12", "x\\r\\ny", "$Id$", "line\\n" * 40)) + str(chance.randrange(3))
    parents = " ".join(f'"{parent}"' for parent in [*Path(path).parents][-2::-1])
    make_room = f'for q in {parents}; do [ -d "$q" -a ! -L "$q" ] || {{ rm -rf "$q"; mkdir "$q"; }}; done'
    write = f'{make_room}; rm -rf "{path}"; printf "{content}" > "{path}"'
    return chance.choice(
        (
            write,
            write,
            f'{write}; chmod +x "{path}"',
            f'[ -f "{path}" ] && printf more >> "{path}"',
            f'rm -rf "{path}"',
            f'{make_room}; rm -rf "{path}"; ln -s "{other}" "{path}"',
            f'[ -e "{other}" ] && {{ {make_room}; [ -e "{other}" ] && mv -T "{other}" "{path}"; }}',
        )
    )


class History:
    """A conversation whose files change at random. It keeps the state before each turn and checks that a
    rewind restores it.
    """

    def __init__(
        self, conversation: ConversationEngine, conversations: Conversations, llm: ScriptedLLM
    ) -> None:
        self.conversation, self.llm = conversation, llm
        self.workspace = conversations.workspace
        self.starts: dict[int, tuple[Files, list[bytes]]] = {}
        self.edited: list[tuple[int, str]] = []

    @property
    def files(self) -> Files:
        return files_of(self.workspace)

    @property
    def last_id(self) -> int:
        made = self.conversation.checkpoints.list().checkpoints
        return made[-1].id if made else 0

    @property
    def chat(self) -> list[bytes]:
        # Messages with the role `system` are left out: the first user message adds the system prompt.
        return [
            message
            for message in self.conversation.run_context.model_input.messages()
            if b'"role":"system"' not in message
        ]

    def edit(self, command: str) -> None:
        before, last = self.files, self.last_id
        subprocess.run(["bash", "-c", command], cwd=self.workspace, check=False, stderr=subprocess.DEVNULL)
        self.edited += [(last, path) for path in differing(before, self.files)]

    async def turn(self, command: str) -> None:
        before = self.files, self.chat
        self.llm.script(call("terminal", command=f"( {command} ) 2>/dev/null"), say("Done."))
        self.conversation.send(user(command))
        await self.conversation.run()
        made = self.conversation.checkpoints.list().checkpoints
        begun = [one for one in made if one.kind is CheckpointKind.TURN][-1]
        self.starts[begun.id] = before

    async def go_back(self, chance: random.Random) -> None:
        number = chance.choice(list(self.starts))
        (target, chat), present, present_chat = self.starts[number], self.files, self.chat
        concerned = differing(present, target)
        edited = {path for since, path in self.edited if since >= number} & concerned
        wanted = RewindRequest()
        if edited:
            with pytest.raises(EditedSinceError) as refusal:
                await rewind(self.conversation, number, wanted)
            assert refusal.value.diff is not None
            assert set(refusal.value.diff.edited) == edited
            assert (self.files, self.chat) == (present, present_chat)
            wanted = RewindRequest(on_edits="keep")

        result = await rewind(self.conversation, number, wanted)

        kept = set(result.kept)
        assert kept >= edited
        assert all(any(in_each_others_way(path, one) for one in edited) for path in kept - edited)
        assert self.files == {
            **{path: file for path, file in target.items() if path not in kept},
            **{path: file for path, file in present.items() if path in kept},
        }
        assert self.chat == chat
        if chance.random() < 0.5:
            await rewind(self.conversation, result.undo, RewindRequest())
            assert (self.files, self.chat) == (present, present_chat)


def differing(one: Files, other: Files) -> set[str]:
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def in_each_others_way(one: str, other: str) -> bool:
    """Returns whether one path lies below the other path, so that only one of the two can be a file."""
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


@pytest.mark.parametrize("seed", range(100))
async def test_files_and_chat_come_back_and_no_edit_is_lost(
    seed: int, conversations: Conversations, scripted_llm: ScriptedLLM
):
    chance = random.Random(seed)  # noqa: S311
    history = History(conversations.create(tools=["terminal"]), conversations, scripted_llm)
    if seed % 3 == 0:
        git(history.workspace, "init", "-q")
    if seed % 4 == 0:
        history.workspace.joinpath("inner").mkdir()
        git(history.workspace / "inner", "init", "-q")
    for _ in range(chance.randint(2, 5)):
        for _ in range(chance.randrange(3)):
            history.edit(deed(chance))
        await history.turn("; ".join(deed(chance) for _ in range(chance.randint(1, 4))))
        if chance.random() < 0.4:
            history.edit(deed(chance))
        if chance.random() < 0.5:
            await history.go_back(chance)
    await history.go_back(chance)
