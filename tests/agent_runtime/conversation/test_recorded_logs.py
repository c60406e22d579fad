"""Recorded logs still give the same state and the same prompts, byte for byte, also if they are read in two
parts.

The command `python -m tests.support.record_logs` makes the recordings. After a change that is meant to alter
the state or the prompts of a log, run it with `--folds` and review the difference before you commit it.
"""

from pathlib import Path

import pytest

from agent_runtime.conversation.event_log.fold import Fold, fold_branch, fold_log, is_navigation
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.events.union import parse_event
from tests.support import record_logs
from tests.support.log_scenes import SCENES
from tests.support.record_logs import USAGE_ID, WHOLE_VIEWS, expected, expected_view, folded, names, read

NAMES = names()
LOGGED_KINDS = {
    "SystemPromptEvent",
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
    "SecurityAnalysisEvent",
    "ConversationStateUpdateEvent",
    "ConversationErrorEvent",
    "PauseEvent",
    "InterruptEvent",
    "Condensation",
    "CondensationRequest",
    "HookExecutionEvent",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_log_amounts_to_the_same_state_and_prompts_as_ever(name: str, tmp_path: Path):
    log = read(name).write(tmp_path)

    assert folded(log) == expected(name)

    log.close()


@pytest.mark.parametrize("name", sorted(WHOLE_VIEWS))
def test_the_messages_for_the_model_are_the_same_byte_for_byte(name: str, tmp_path: Path):
    log = read(name).write(tmp_path)

    messages = fold_log(log, USAGE_ID).view.messages()

    assert b"".join(message + b"\n" for message in messages) == expected_view(name)
    log.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_log_taken_in_from_a_snapshot_at_any_position_is_the_same(name: str, tmp_path: Path):
    log = EventLog(tmp_path, create=True)
    fold, snapshots = Fold(USAGE_ID), []
    for record in read(name).records:
        log.append([record])
        event = parse_event(record.body)
        if is_navigation(event):
            fold = fold_branch(log, USAGE_ID, event.value, through_seq=record.seq)
        else:
            fold.take(event, seq=record.seq, seen_seq=record.seen_seq)
        snapshots.append(fold.snapshot())

    whole = fold_log(log, USAGE_ID)
    resumed = [fold_log(log, USAGE_ID, snapshot=snapshot) for snapshot in snapshots]

    assert all(one.state == whole.state for one in [fold, *resumed])
    assert all(one.view.passages == whole.view.passages for one in [fold, *resumed])
    assert all(one.context_tokens == whole.context_tokens for one in [fold, *resumed])
    log.close()


def test_there_is_a_recording_of_every_scene_and_every_kind_of_event():
    kinds = {record.kind for name in NAMES for record in read(name).records}

    assert sorted(scene.name for scene in SCENES) == NAMES
    assert len(NAMES) >= 50
    assert kinds == LOGGED_KINDS


@pytest.mark.parametrize("name", ["nudged", "went-back"])
async def test_a_scene_played_again_gives_the_log_that_was_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    recorded = read(name)
    monkeypatch.setattr(record_logs, "LOGS", tmp_path)

    await record_logs.record(next(scene for scene in SCENES if scene.name == name))

    assert [record.kind for record in read(name).records] == [record.kind for record in recorded.records]
