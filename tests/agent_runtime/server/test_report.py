"""Reports to the app server lose no event and repeat none, also if one of the two servers is killed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import KEY, AgentServer
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, calls, say


@pytest.fixture
def receiver() -> Iterator[ReportReceiver]:
    with ReportReceiver() as receiver:
        yield receiver


@pytest.fixture
def reporting(own_server: AgentServer, receiver: ReportReceiver) -> AgentServer:
    own_server.report_url = receiver.url
    own_server.start()
    return own_server


def create(server: AgentServer, llm: ScriptedLLM, path: Path, text: str | None = None) -> str:
    info = server.call("POST", "/api/conversations", json=start_request(llm, path, text))
    return str(info["id"]).replace("-", "")


def wait_until_reported(server: AgentServer, receiver: ReportReceiver, conversation: str) -> None:
    log = server.events(conversation)
    wait_until(lambda: len(receiver.stored[conversation]) >= len(log))
    assert receiver.stored[conversation] == log


def test_every_event_arrives_in_order_and_pieces_travel_along(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(calls(("think", {"thought": "x"})), say("A reply in several pieces."))

    conversation = create(reporting, scripted_llm, tmp_path, "Go.")
    wait_until(lambda: status_of(reporting, conversation) == "finished")

    wait_until_reported(reporting, receiver, conversation)
    assert receiver.keys == {KEY}
    text = "".join(p["content"] for p in receiver.pieces if p["type"] == "delta" and p["kind"] == "text")
    assert text == "A reply in several pieces."
    assert receiver.repeated == 0


def test_a_receiver_that_dies_and_returns_misses_nothing(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    def die_halfway(request: Request) -> Turn:
        receiver.stop()
        return calls(("think", {"thought": "nobody hears this"}))

    scripted_llm.script(*(calls(("think", {"thought": str(n)})) for n in range(5)), die_halfway, say("done"))
    conversation = create(reporting, scripted_llm, tmp_path, "Go.")
    wait_until(lambda: status_of(reporting, conversation) == "finished")
    assert len(receiver.stored[conversation]) < len(reporting.events(conversation))

    receiver.fail_next = 2
    receiver.start()

    wait_until_reported(reporting, receiver, conversation)


def test_a_confirmation_that_cannot_be_noted_does_not_end_the_reports(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(reporting, scripted_llm, tmp_path)
    file = reporting.path / "conversations" / conversation / "log.sqlite"
    with closing(sqlite3.connect(file)) as log:
        # Simulates a full disk: the log cannot store up to which event the receiver has confirmed the
        # reports.
        log.execute("ALTER TABLE meta RENAME TO meta_away")
        reporting.call("POST", f"/api/conversations/{conversation}/events", json=message("first"))
        wait_until(lambda: "a report failed" in reporting.log_text())
        log.execute("ALTER TABLE meta_away RENAME TO meta")

    reporting.call("POST", f"/api/conversations/{conversation}/events", json=message("second"))
    wait_until_reported(reporting, receiver, conversation)


def test_a_sender_that_is_killed_goes_on_where_it_was_confirmed(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(reporting, scripted_llm, tmp_path)
    for number in range(10):
        reporting.call("POST", f"/api/conversations/{conversation}/events", json=message(str(number)))
    wait_until_reported(reporting, receiver, conversation)
    receiver.stop()
    for number in range(10, 20):
        reporting.call("POST", f"/api/conversations/{conversation}/events", json=message(str(number)))
    reporting.kill()

    receiver.start()
    reporting.start()

    wait_until_reported(reporting, receiver, conversation)


def test_a_receiver_that_lost_its_memory_is_told_again(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(reporting, scripted_llm, tmp_path)
    events = f"/api/conversations/{conversation}/events"
    reporting.call("POST", events, json=message("first"))
    wait_until_reported(reporting, receiver, conversation)

    receiver.stored[conversation].clear()
    reporting.call("POST", events, json=message("second"))

    wait_until_reported(reporting, receiver, conversation)


def test_an_event_that_is_refused_is_replaced_by_a_notice_and_the_rest_goes_on(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(reporting, scripted_llm, tmp_path)
    receiver.unacceptable = "canary-7 "
    receiver.stop()
    texts = [f"canary-{number} of many" for number in range(250)]
    for text in texts:
        reporting.call("POST", f"/api/conversations/{conversation}/events", json=message(text))

    receiver.start()
    wait_until(lambda: len(receiver.stored[conversation]) == len(texts) + 1)
    reporting.call("POST", f"/api/conversations/{conversation}/events", json=message("one more"))
    wait_until(lambda: len(receiver.stored[conversation]) == len(texts) + 2)

    log = reporting.events(conversation)
    told = receiver.stored[conversation]
    (different,) = [seq for seq, pair in enumerate(zip(log, told, strict=True)) if pair[0] != pair[1]]
    assert "canary-7 " in str(log[different])
    assert (told[different]["kind"], told[different]["code"]) == ("ServerErrorEvent", "event_refused")
    assert "422" in told[different]["detail"]
    assert "refuses an event" in reporting.log_text()


def test_a_receiver_that_refuses_everything_is_asked_again_until_it_accepts(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path
):
    conversation = create(reporting, scripted_llm, tmp_path)
    receiver.unacceptable = "frames"
    reporting.call("POST", f"/api/conversations/{conversation}/events", json=message("first"))
    wait_until(lambda: "reports wait for the receiver" in reporting.log_text())

    receiver.unacceptable = None
    reporting.call("POST", f"/api/conversations/{conversation}/events", json=message("second"))

    wait_until(lambda: len(receiver.stored[conversation]) == len(reporting.events(conversation)))
    assert receiver.stored[conversation][1:] == reporting.events(conversation)[1:]


@pytest.mark.parametrize("status", [404, 410])
def test_a_conversation_the_receiver_takes_no_more_of_is_not_reported_again(
    reporting: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path, status: int
):
    receiver.gone_status = status
    conversation = create(reporting, scripted_llm, tmp_path)
    receiver.gone.add(conversation)
    events = f"/api/conversations/{conversation}/events"
    reporting.call("POST", events, json=message("first"))
    wait_until(lambda: "unknown to the receiver" in reporting.log_text())
    posts = receiver.posts

    reporting.call("POST", events, json=message("second"))
    other = create(reporting, scripted_llm, tmp_path)
    reporting.call("POST", f"/api/conversations/{other}/events", json=message("elsewhere"))

    wait_until_reported(reporting, receiver, other)
    assert receiver.posts == posts + 1
