"""Tests of the agent server's main routes, called as its clients call them."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_server import AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, hang, say

PROBLEM = "application/problem+json"
NOBODYS_ID = "00000000-0000-4000-8000-000000000000"


def test_a_conversation_runs_from_its_first_message_to_its_answer(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("Four."))

    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "2+2?"))
    wait_until(lambda: status_of(server, info["id"]) == "finished")

    final = server.call("GET", f"/api/conversations/{info['id']}/agent_final_response")
    assert final == {"response": "Four."}


def test_creating_the_same_conversation_twice_gives_the_first_one_back(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    body = start_request(scripted_llm, tmp_path, conversation_id=uuid4().hex, tags={"a": "1"})
    with server.http as http:
        first = http.post("/api/conversations", json=body)
        second = http.post("/api/conversations", json={**body, "tags": {"a": "2"}})

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["tags"] == {"a": "1"}
    assert second.json()["id"].replace("-", "") == body["conversation_id"]


def test_the_info_shows_no_key_and_keeps_what_it_does_not_know(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    body = start_request(scripted_llm, tmp_path)
    body["agent"]["filter_tools_regex"] = "x"

    info = server.call("POST", "/api/conversations", json=body)

    assert info["agent"]["llm"]["api_key"] == "**********"
    assert info["agent"]["filter_tools_regex"] == "x"
    assert info["execution_status"] == "idle"
    assert info["created_at"].endswith("Z")


def test_events_are_found_page_by_page_in_both_directions(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    events = f"/api/conversations/{info['id']}/events"
    for number in range(4):
        server.call("POST", events, json=message(f"message {number}"))

    first = server.call("GET", f"{events}/search", params={"limit": 2})
    rest = server.call("GET", f"{events}/search", params={"page_id": first["next_page_id"]})
    backwards = server.call("GET", f"{events}/search", params={"sort_order": "TIMESTAMP_DESC"})

    forwards = first["items"] + rest["items"]
    assert [e["kind"] for e in forwards] == ["SystemPromptEvent", *["MessageEvent"] * 4]
    assert forwards == backwards["items"][::-1]
    assert rest["next_page_id"] is None
    assert server.call("GET", f"{events}/count", params={"kind": "MessageEvent"}) == 4
    found = server.call("GET", f"{events}/search", params={"body": "MESSAGE 2"})["items"]
    assert [e["llm_message"]["content"][0]["text"] for e in found] == ["message 2"]
    since = {"timestamp__gte": forwards[3]["timestamp"]}
    assert len(server.call("GET", f"{events}/search", params=since)["items"]) == 2
    one = server.call("GET", f"{events}/{forwards[1]['id']}")
    assert (one["id"], one["llm_response_id"]) == (forwards[1]["id"], None)
    many = server.call("GET", events, json=[forwards[1]["id"], "nothing"])
    assert many == [forwards[1], None]


def test_a_repeated_message_id_is_accepted_and_changes_nothing(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    events = f"/api/conversations/{info['id']}/events"

    for _ in range(2):
        assert server.call("POST", events, json=message("hi", id="mine")) == {"success": True}

    assert server.call("GET", f"{events}/count", params={"kind": "MessageEvent"}) == 1


def test_a_creation_that_is_repeated_neither_loses_nor_doubles_its_first_message(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("Hello."))
    body = start_request(scripted_llm, tmp_path, conversation_id=uuid4().hex)
    first = message("Hi.", id=uuid4().hex, run=True)
    path = f"/api/conversations/{body['conversation_id']}"
    server.call("POST", "/api/conversations", json=body)

    for _ in range(3):
        server.call("POST", "/api/conversations", json={**body, "initial_message": first})
        wait_until(lambda: status_of(server, body["conversation_id"]) == "finished")

    assert server.call("GET", f"{path}/events/count", params={"kind": "MessageEvent", "source": "user"}) == 1
    assert len(scripted_llm.requests) == 1


def test_running_twice_is_refused_and_interrupting_stops_at_once(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(hang())
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path, "Go."))
    path = f"/api/conversations/{info['id']}"
    wait_until(lambda: scripted_llm.requests)

    with server.http as http:
        refused = http.post(f"{path}/run")
        joined = http.post(f"{path}/events", json=message("More.", run=True))
        interrupted = http.post(f"{path}/interrupt")

    assert refused.status_code == 409
    assert joined.status_code == interrupted.status_code == 200
    assert status_of(server, info["id"]) == "paused"


def test_conversations_are_listed_counted_and_deleted(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    before = server.call("GET", "/api/conversations/count")
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    path = f"/api/conversations/{info['id']}"

    newest = server.call("GET", "/api/conversations/search", params={"limit": 1})["items"][0]
    assert newest["id"] == info["id"]
    assert server.call("GET", "/api/conversations/count") == before + 1
    missing = str(uuid4())
    found = server.call("GET", "/api/conversations", params={"ids": [info["id"], missing]})
    assert [one and one["id"] for one in found] == [info["id"], None]

    assert server.call("DELETE", path) == {"success": True}
    with server.http as http:
        assert http.get(path).status_code == 404
    assert server.call("GET", "/api/conversations/count") == before


@pytest.mark.parametrize("path", ["/health", "/alive", "/ready", "/server_info"])
def test_health_needs_no_key(server: AgentServer, path: str):
    assert httpx.get(server.url + path, timeout=PATIENCE_SECONDS).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-Session-API-Key": "wrong"}, {"X-Session-API-Key": "schlüssel"}])
def test_everything_else_needs_the_key(server: AgentServer, headers: dict[str, str]):
    encoded = {name: value.encode() for name, value in headers.items()}

    reply = httpx.get(f"{server.url}/api/conversations/count", headers=encoded, timeout=PATIENCE_SECONDS)

    assert reply.status_code == 401
    assert reply.headers["content-type"] == PROBLEM
    assert reply.json()["code"] == "not_authenticated"


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/api/conversations", b"{", 422),
        ("POST", "/api/conversations", b"[]", 422),
        ("POST", "/api/conversations", b"\xff\xfe", 422),
        ("POST", "/api/conversations", b'{"agent": {}, "workspace": {"working_dir": "/tmp/x"}}', 422),
        ("POST", "/api/conversations", b'{"agent": 1}', 422),
        ("GET", "/api/conversations/not-an-id", b"", 422),
        ("GET", f"/api/conversations/{NOBODYS_ID}", b"", 404),
        ("POST", f"/api/conversations/{NOBODYS_ID}/run", b"", 404),
        ("GET", f"/api/conversations/{NOBODYS_ID}/events/search", b"", 404),
        ("GET", "/api/conversations/search?limit=0", b"", 422),
        ("GET", "/api/nowhere", b"", 404),
        ("PUT", "/api/conversations", b"", 405),
    ],
)
def test_bad_input_is_a_problem_document(
    server: AgentServer, method: str, path: str, content: bytes, status: int
):
    with server.http as http:
        reply = http.request(method, path, content=content, headers={"Content-Type": "application/json"})

    assert reply.status_code == status
    assert reply.headers["content-type"] == PROBLEM
    assert reply.json()["code"]


@pytest.mark.parametrize(
    "change",
    [
        {"workspace": {"working_dir": "/tmp/\0"}},  # noqa: S108
        {"workspace": {"working_dir": "/proc/nowhere"}},
        {"workspace": {"working_dir": "x" * 5000}},
        {"tags": {"a": "\ud800"}},
        {"agent": {"llm": {"model": "m"}, "extra": "\ud800"}},
        {"max_iterations": 10**30},
        {"max_iterations": float("nan")},
    ],
)
def test_what_cannot_be_stored_is_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, change: dict[str, object]
):
    body = start_request(scripted_llm, tmp_path, conversation_id=uuid4().hex, **change)
    with server.http as http:
        reply = http.post(
            "/api/conversations", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        afterwards = http.get(f"/api/conversations/{body['conversation_id']}")

    assert reply.status_code == 422
    assert reply.headers["content-type"] == PROBLEM
    assert afterwards.status_code == 404


@pytest.mark.parametrize("text", ["\ud800", "\0", "", "🧡" * 10])
def test_odd_texts_are_taken_or_refused_and_never_break(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, text: str
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    events = f"/api/conversations/{info['id']}/events"

    with server.http as http:
        body = json.dumps(message(text))
        reply = http.post(events, content=body, headers={"Content-Type": "application/json"})

    assert reply.status_code in {200, 422}
    assert len(server.events(info["id"])) == (2 if reply.status_code == 200 else 0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tools": [{"name": "teleport"}]}, "tool_not_found"),
        ({"llm": {"model": ""}}, "validation_failed"),
        ({"llm": {"model": "x", "temperature": "canary"}}, "validation_failed"),
    ],
)
def test_an_agent_that_cannot_work_is_refused_and_leaves_nothing(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, change: dict[str, object], code: str
):
    body = start_request(scripted_llm, tmp_path, conversation_id=uuid4().hex)
    with server.http as http:
        reply = http.post("/api/conversations", json={**body, "agent": {**body["agent"], **change}})
        afterwards = http.get(f"/api/conversations/{body['conversation_id']}")

    assert reply.status_code == 422
    assert reply.json()["code"] == code
    assert "canary" not in reply.text
    assert afterwards.status_code == 404


def test_a_message_of_over_one_mebibyte_is_refused(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    info = server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))

    with server.http as http:
        reply = http.post(f"/api/conversations/{info['id']}/events", json=message("x" * (1024 * 1024 + 1)))

    assert reply.status_code == 413
    assert reply.json()["code"] == "message_too_large"
