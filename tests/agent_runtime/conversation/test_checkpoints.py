"""Tests of the checkpoints of the workspace (one for each turn) and of rewinds to them."""

import pytest

from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.errors import (
    EditedSinceError,
)
from agent_runtime.wire import CheckpointKind, RewindRequest
from agent_runtime.workspace import snapshot_repository
from tests.agent_runtime.conversation.checkpoint_turns import BOTH, FILES, checkpoints, turn, turns
from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.agent_runtime.conversation.labour import texts
from tests.agent_runtime.conversation.workspace_files import files_of
from tests.support.scripted_llm import ScriptedLLM, call, hold, say

CHAT = RewindRequest(files=False)


KEEP = RewindRequest(on_edits="keep")


async def test_files_and_chat_come_back_to_before_a_message(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a.txt; mkdir d; echo x > d/b; chmod +x d/b", "First?")
    before = files_of(conversations.workspace)
    await turn(conversation, scripted_llm, "rm -r d; echo two > a.txt; ln -s a.txt link", "Second?")

    result = await rewind(conversation, turns(conversation)[1].id, BOTH)

    assert files_of(conversations.workspace) == before
    assert {(one.status, one.path) for one in result.files} == {
        ("UPDATED", "a.txt"), ("ADDED", "d/b"), ("DELETED", "link"),
    }  # fmt: skip
    scripted_llm.script(say("Otherwise."))
    conversation.send(user("Second, otherwise?"))
    await conversation.run()
    assert texts(scripted_llm.requests[-1])[1:] == [
        "First?", *texts(scripted_llm.requests[1])[2:], "Done.", "Second, otherwise?",
    ]  # fmt: skip


async def test_a_checkpoint_names_the_message_that_began_the_turn(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo > a")
    await turn(conversation, scripted_llm, "true")

    said = [e for e in of_kind(conversation, "MessageEvent") if e["source"] == "user"]
    assert [one.event_id for one in turns(conversation)] == [e["id"] for e in said]
    assert [one.seq for one in turns(conversation)] == [conversation.log.seq_of(e["id"]) for e in said]
    # The second turn changed nothing, so it has no checkpoint of its end.
    assert len(checkpoints(conversation, CheckpointKind.END)) == 1


async def test_a_message_during_a_run_has_a_separate_checkpoint(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    thinking = hold(call("terminal", command="echo one > a"))
    scripted_llm.script(thinking, call("terminal", command="echo two > a"), say("Done."))
    conversation.send(user("Go."))
    conversation.start()
    await scripted_llm.wait_for_requests(1)
    conversation.send(user("And then two."))
    thinking.release()
    await conversation.wait()

    await rewind(conversation, turns(conversation)[1].id, FILES)

    assert (conversations.workspace / "a").read_text() == "one\n"


async def test_files_alone_come_back_and_the_chat_stays(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")
    leaf = conversation.info().leaf_event_id

    await rewind(conversation, turns(conversation)[0].id, FILES)

    assert files_of(conversations.workspace) == {}
    assert conversation.info().leaf_event_id == leaf


async def test_the_chat_alone_goes_back_and_files_stay(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")

    await rewind(conversation, turns(conversation)[0].id, CHAT)

    assert (conversations.workspace / "a").read_text() == "one\n"
    assert not conversation.state.has_work
    scripted_llm.script(say("Hi."))
    conversation.send(user("Afresh."))
    await conversation.run()
    assert texts(scripted_llm.requests[-1])[1:] == ["Afresh."]


async def test_a_rewind_is_logged_and_can_be_undone(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    await turn(conversation, scripted_llm, "echo one > a")
    leaf = conversation.info().leaf_event_id

    result = await rewind(conversation, turns(conversation)[0].id, BOTH)

    updates = of_kind(conversation, "ConversationStateUpdateEvent")
    said = [e["value"]["rewind"] for e in updates if e["key"] == "agent_state" and "rewind" in e["value"]]
    first = turns(conversation)[0]
    assert said == [
        {"checkpoint": first.id, "event_id": first.event_id, "undo": result.undo, "files": 1, "chat": True,
         "kept": []}
    ]  # fmt: skip
    await rewind(conversation, result.undo, BOTH)
    assert (conversations.workspace / "a").read_text() == "one\n"
    assert conversation.info().leaf_event_id == leaf


async def test_edits_of_the_user_are_not_dropped(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    workspace = conversations.workspace
    await turn(conversation, scripted_llm, "echo one > a; echo one > b")
    await turn(conversation, scripted_llm, "echo two > a; echo two > b")
    (workspace / "a").write_text("mine\n")
    (workspace / "new").write_text("mine, too\n")
    before = files_of(workspace)
    log = conversation.log.last_seq

    with pytest.raises(EditedSinceError) as refusal:
        await rewind(conversation, turns(conversation)[1].id, BOTH)

    assert refusal.value.diff is not None
    assert refusal.value.diff.edited == ["a", "new"]
    assert "+mine" in (refusal.value.diff.patch or "")
    assert files_of(workspace) == before
    assert conversation.log.last_seq == log

    result = await rewind(conversation, turns(conversation)[1].id, KEEP)

    assert result.kept == ["a", "new"]
    assert files_of(workspace) == {**before, "b": ("file", b"one\n")}


async def test_edits_between_turns_count_however_long_ago(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    workspace = conversations.workspace
    await turn(conversation, scripted_llm, "echo one > a")
    (workspace / "a").write_text("mine\n")
    await turn(conversation, scripted_llm, "echo agent >> a")
    await turn(conversation, scripted_llm, "echo b > b")

    with pytest.raises(EditedSinceError) as refusal:
        await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert refusal.value.diff is not None
    assert refusal.value.diff.edited == ["a"]
    await rewind(conversation, turns(conversation)[1].id, BOTH)
    assert (workspace / "a").read_text() == "mine\n"


async def test_a_file_that_the_user_deleted_stays_deleted(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create()
    conversations.workspace.joinpath("a").write_text("a")
    await turn(conversation, scripted_llm, "echo b > b")
    conversations.workspace.joinpath("a").unlink()

    await rewind(conversation, turns(conversation)[0].id, KEEP)

    assert files_of(conversations.workspace) == {}


async def test_what_is_in_no_checkpoint_is_never_overwritten(
    conversations: Conversations, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot_repository, "MAX_FILE_BYTES", 100)
    conversation = conversations.create()
    workspace = conversations.workspace
    workspace.joinpath("grows").write_text("small")
    workspace.joinpath("was-a-file").write_text("file")
    await turn(
        conversation,
        scripted_llm,
        "printf '%0200d' 0 > grows; rm was-a-file; mkdir was-a-file; echo '*.o' > .gitignore;"
        " echo ignored > was-a-file/x.o",
    )
    before = files_of(workspace)
    first = turns(conversation)[0].id

    assert (await conversation.checkpoints.diff(first)).blocked == ["grows", "was-a-file"]
    with pytest.raises(EditedSinceError):
        await rewind(conversation, first, BOTH)
    result = await rewind(conversation, first, KEEP)

    assert result.kept == ["grows", "was-a-file"]
    del before[".gitignore"]
    assert files_of(workspace) == before
    last = checkpoints(conversation, CheckpointKind.REWIND)[-1]
    assert last.skipped == ["grows"]


async def test_ignored_files_are_left_alone(conversations: Conversations, scripted_llm: ScriptedLLM):
    conversation = conversations.create()
    workspace = conversations.workspace
    workspace.joinpath(".gitignore").write_text("build/\n")
    await turn(conversation, scripted_llm, "mkdir build .venv; echo 1 > build/x; echo 1 > .venv/y")

    await rewind(conversation, turns(conversation)[0].id, BOTH)

    assert files_of(workspace).keys() == {".gitignore", "build/x", ".venv/y"}
