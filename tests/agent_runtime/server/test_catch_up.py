"""A server that was restored from a backup gets the later events back, because clients have seen these
events.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import ScriptedLLM, call, calls, hang, say

TAKEN_AT = "2026-11-22T14:05:00Z"
RESTORED = {"id": "abc", "as_of": TAKEN_AT}


class Loss:
    """A conversation that continues after its backup until its machine is lost. seen: the events until the
    loss. kept: the events in the backup.
    """

    def __init__(self, server: AgentServer, llm: ScriptedLLM, path: Path) -> None:
        self.server, self.llm, self.path = server, llm, path
        self.id = ""
        self.kept: list[dict[str, Any]] = []
        self.seen: list[dict[str, Any]] = []

    def begin(self, **fields: Any) -> None:
        """Runs the first turn of the conversation and then makes the backup."""
        self.server.start()
        self.llm.script(call("think", thought="first"), say("First done."))
        body = start_request(self.llm, self.path, "Begin.", **fields)
        self.id = self.server.call("POST", "/api/conversations", json=body)["id"]
        wait_until(lambda: status_of(self.server, self.id) in {"finished", "waiting_for_confirmation"})
        self.back_up()

    def back_up(self) -> None:
        self.server.stop()
        shutil.copytree(self.path / "conversations", self.path / "backup")
        self.server.start()
        self.kept = self.server.events(self.id)

    def send(self, text: str) -> None:
        body = message(text, run=True)
        self.server.call("POST", f"/api/conversations/{self.id}/events", json=body)

    def lose(self) -> None:
        """Stores the present events in `seen`, as those that clients have seen. Then restores the files of
        the backup.
        """
        self.seen = self.server.events(self.id)
        self.restore()

    def restore(self) -> None:
        if self.server.process is not None:
            self.server.kill()
        shutil.rmtree(self.path / "conversations")
        shutil.copytree(self.path / "backup", self.path / "conversations")
        self.server.start()

    def part(self, begin: int, end: int, *, is_last: bool = False) -> dict[str, Any]:
        """Returns the request body that gives the server the lost events from position `begin` to `end`.
        is_last: the body also says that the files were restored from a backup.
        """
        lost = len(self.seen) - len(self.kept)
        return {
            "after_seq": begin - 1,
            "after_id": self.seen[begin - 2]["id"] if begin > 1 else None,
            "events": self.seen[begin - 1 : end],
            **({"restored": {**RESTORED, "lost_events": lost}} if is_last else {}),
        }

    def give(self, part: dict[str, Any]) -> None:
        self.server.call("POST", f"/api/conversations/{self.id}/log/catch_up", json=part)

    def refusal(self, part: dict[str, Any]) -> str:
        with self.server.http as http:
            reply = http.post(f"/api/conversations/{self.id}/log/catch_up", json=part)
        assert reply.status_code in {409, 422}, reply.text
        return str(reply.json()["code"])

    def catch_up(self) -> None:
        self.give(self.part(len(self.kept) + 1, len(self.seen), is_last=True))


@pytest.fixture
def loss(own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path) -> Loss:
    return Loss(own_server, scripted_llm, tmp_path)


def work_until_lost(loss: Loss) -> None:
    """Starts a command of the agent and loses the machine while the command runs."""
    loss.llm.script(
        calls(("terminal", {"command": "echo begun >> ran; sleep 600"}), ("think", {"thought": "x"}))
    )
    loss.send("Go on.")
    wait_until((loss.path / "work" / "ran").exists)
    loss.lose()


def test_a_fork_has_the_log_but_not_the_running_work(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    forked = {"id": loss.id, "conversation_id": "00000000-0000-4000-8000-000000000001", "as_of": TAKEN_AT}
    part = loss.part(len(loss.kept) + 1, len(loss.seen))

    for _ in range(2):
        loss.give({**part, "forked": forked})

    events = loss.server.events(loss.id)
    told, first, second, message_ = events[len(loss.seen) :]
    facts = {name: forked[name] for name in ("conversation_id", "as_of")}
    assert told["value"] == {"forked": facts}
    assert [first["kind"], second["kind"]] == ["AgentErrorEvent"] * 2
    assert message_["source"] == "environment"
    assert "copy of another one" in message_["llm_message"]["content"][0]["text"]


def test_the_log_is_the_one_that_was_reported_and_the_agent_is_told_how_old_its_files_are(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    middle = len(loss.kept) + 2

    loss.give(loss.part(len(loss.kept) + 1, middle))
    for _ in range(2):
        loss.give(loss.part(middle, len(loss.seen), is_last=True))

    events = loss.server.events(loss.id)
    assert events[: len(loss.seen)] == loss.seen
    restored, first, second, *rest = events[len(loss.seen) :]
    lost = len(loss.seen) - len(loss.kept)
    assert restored["value"] == {"restored": {"as_of": RESTORED["as_of"], "lost_events": lost}}
    assert (first["kind"], second["kind"]) == ("AgentErrorEvent", "AgentErrorEvent")
    assert "may have run" in first["error"]
    assert "Not run" in second["error"]
    paused, told = rest
    assert (paused["key"], paused["value"]) == ("execution_status", "paused")
    assert told["source"] == "environment"
    text = told["llm_message"]["content"][0]["text"]
    assert "a backup of 2026-11-22 14:05 UTC" in text
    assert f"What {lost} later events" in text
    assert status_of(loss.server, loss.id) == "paused"

    loss.llm.script(say("I see."))
    loss.send("And now?")
    wait_until(lambda: status_of(loss.server, loss.id) == "finished")
    prompt = json.dumps(loss.llm.requests[-1].messages)
    assert "Go on." in prompt
    assert "2026-11-22 14:05 UTC" in prompt


def test_what_follows_from_events_is_as_it_was(loss: Loss) -> None:
    loss.begin()
    loss.llm.script(say("Second."))
    loss.send("Go on.")
    wait_until(lambda: status_of(loss.server, loss.id) == "finished")
    loss.server.call("PATCH", f"/api/conversations/{loss.id}", json={"title": "Named", "tags": {"a": "b"}})
    before = loss.server.call("GET", f"/api/conversations/{loss.id}")
    loss.lose()

    loss.catch_up()

    after = loss.server.call("GET", f"/api/conversations/{loss.id}")
    same = ("title", "tags", "stats", "execution_status", "confirmation_policy")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert len(loss.server.events(loss.id)) == len(loss.seen) + 2, "it is told, and nothing was cut off"


def test_kill_9_in_the_midst_leaves_what_can_be_repeated(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    loss.give(loss.part(len(loss.kept) + 1, len(loss.kept) + 2))
    loss.server.kill()
    loss.server.start()

    loss.catch_up()
    told = loss.server.events(loss.id)
    loss.server.kill()
    loss.server.start()
    loss.catch_up()

    assert loss.server.events(loss.id) == told
    assert told[: len(loss.seen)] == loss.seen


def test_files_laid_out_a_second_time_are_not_told_of_twice(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    loss.catch_up()
    loss.lose()

    loss.catch_up()

    assert loss.server.events(loss.id) == loss.seen


def test_only_what_follows_directly_is_taken(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    behind = len(loss.kept)

    assert loss.refusal(loss.part(behind + 3, behind + 4)) == "log_gap"
    other = loss.part(behind + 1, behind + 2)
    assert loss.refusal({**other, "after_id": "another"}) == "log_differs"
    known = loss.part(behind, behind + 1)
    known["events"][0] = {**known["events"][0], "id": "another"}
    assert loss.refusal(known) == "log_differs"
    twice = loss.part(behind + 1, behind + 1)
    assert loss.refusal({**twice, "events": twice["events"] * 2}) == "log_differs"
    assert loss.refusal({**other, "events": [{"kind": "MessageEvent"}]}) == "validation_failed"

    assert loss.server.events(loss.id) == loss.kept
    assert loss.server.call("GET", f"/api/conversations/{loss.id}/log") == {"last_seq": behind}


def test_nothing_is_put_into_a_log_that_is_at_work(loss: Loss) -> None:
    loss.begin()
    work_until_lost(loss)
    loss.llm.script(hang())
    loss.send("Already at it.")
    wait_until(lambda: status_of(loss.server, loss.id) == "running")

    assert loss.refusal(loss.part(len(loss.kept) + 1, len(loss.seen))) == "already_running"


def test_what_waits_for_consent_goes_on_waiting(loss: Loss) -> None:
    loss.begin()
    policy = {"policy": {"kind": "AlwaysConfirm"}}
    loss.server.call("POST", f"/api/conversations/{loss.id}/confirmation_policy", json=policy)
    loss.llm.script(call("terminal", command="touch made"))
    loss.send("Go on.")
    wait_until(lambda: status_of(loss.server, loss.id) == "waiting_for_confirmation")
    loss.lose()

    loss.catch_up()

    assert status_of(loss.server, loss.id) == "waiting_for_confirmation"
    loss.llm.script(say("Made."))
    answer = {"accept": True}
    loss.server.call("POST", f"/api/conversations/{loss.id}/events/respond_to_confirmation", json=answer)
    wait_until(lambda: status_of(loss.server, loss.id) == "finished")
    assert (loss.path / "work" / "made").exists()


def test_sub_conversations_that_the_backup_does_not_have_are_known_to_be_gone(loss: Loss) -> None:
    loss.begin()
    loss.llm.script(say("A child's word."))
    route = f"/api/conversations/{loss.id}/children"
    child = loss.server.call("POST", route, json={"task": "Look.", "isolation": "shared"})["conversation_id"]
    wait_until(lambda: status_of(loss.server, child) == "finished")
    loss.lose()

    loss.catch_up()

    updates = [e["value"] for e in loss.server.events(loss.id) if e.get("key") == "sub_conversation_ids"]
    assert updates == [[child], []]


@pytest.fixture
def receiver() -> Iterator[ReportReceiver]:
    with ReportReceiver() as receiver:
        yield receiver


@pytest.mark.parametrize("is_behind", [True, False])
def test_a_run_in_a_backup_continues_only_if_the_app_server_has_no_later_events(
    loss: Loss, receiver: ReportReceiver, is_behind: bool
) -> None:
    loss.server.report_url = receiver.url
    loss.begin()
    loss.llm.script(hang())
    loss.send("Go on.")
    wait_until(lambda: len(loss.llm.requests) == 3)
    loss.server.kill()
    shutil.rmtree(loss.path / "backup")
    shutil.copytree(loss.path / "conversations", loss.path / "backup")
    hexadecimal = loss.id.replace("-", "")
    loss.llm.script(say("The last word."))
    if is_behind:
        loss.server.start()
        wait_until(lambda: status_of(loss.server, loss.id) == "finished")
        known = loss.server.events(loss.id)
        wait_until(lambda: receiver.stored[hexadecimal] == known)
        asked = len(loss.llm.requests)
        loss.restore()
        wait_until(lambda: "does not go on" in loss.server.log_text())
        assert len(loss.llm.requests) == asked
        assert receiver.stored[hexadecimal] == known
    else:
        loss.restore()
        wait_until(lambda: status_of(loss.server, loss.id) == "finished")
        known = loss.server.events(loss.id)
        wait_until(lambda: receiver.stored[hexadecimal] == known)
