"""Tests of everything that leaves the server, with an agent, a model and a user that try to
reveal a secret.
"""

import base64
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from agent_runtime.conversation.title import MAX_TITLE_CHARS
from tests.agent_runtime.conversation.conftest import agent_spec
from tests.agent_runtime.server.conftest import message, status_of, wait_until
from tests.support.agent_server import KEY, AgentServer
from tests.support.live_trees import contents_below
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, calls, say

VALUE = 'c4nary/"of+all the&sinks" ü'
DATA = VALUE.encode()
FORMS = {
    "clear": VALUE,
    "base64": base64.b64encode(DATA).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(DATA).decode(),
    "hex": DATA.hex(),
    "URL": quote(VALUE, safe=""),
    "JSON": json.dumps(VALUE)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(VALUE))[3:-3],
}
EVERY_FORM = " | ".join(FORMS.values())


def assert_hidden(where: str, text: str) -> None:
    shown = [name for name, form in FORMS.items() if form in text]
    assert not shown, f"{where} shows it as {shown}"


def assert_no_file_shows(server: AgentServer) -> None:
    for file, content in contents_below(server.path):
        assert_hidden(file.name, content.decode(errors="replace"))


def with_secret(server: AgentServer, llm: ScriptedLLM, work: Path, **request: Any) -> str:
    """Creates a conversation with the secret TOKEN and returns its id. request: fields of the start request;
    `agent`: fields that are added to the usual agent.
    """
    body = {
        "agent": {**agent_spec(llm, stream=True), **request.pop("agent", {})},
        "workspace": {"working_dir": str(work)},
        "secrets": {"TOKEN": {"kind": "StaticSecret", "value": VALUE}},
        "autotitle": False,
        **request,
    }
    return str(server.call("POST", "/api/conversations", json=body)["id"])


def opened(server: AgentServer, path: str) -> ClientConnection:
    headers = {"X-Session-API-Key": KEY}
    url = f"{server.ws_url}/sockets/{path}"
    return connect(url, additional_headers=headers, max_queue=None, open_timeout=PATIENCE_SECONDS)


def frames_until(socket: ClientConnection, is_last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    while not frames or not is_last(frames[-1]):
        frames.append(json.loads(socket.recv(timeout=PATIENCE_SECONDS)))
    return frames


def everything_in(archive: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return "".join(files.read(name).decode() for name in files.namelist())


def test_no_way_out_shows_a_secret(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    work = tmp_path / "work"
    scripted_llm.script(
        calls(
            ("terminal", {"command": 'echo $TOKEN; printf %s "$TOKEN" | base64', "summary": EVERY_FORM}),
            thought=EVERY_FORM,
        ),
        calls(
            ("think", {"thought": EVERY_FORM}), ("file_editor", {"command": "view", "path": f"/{EVERY_FORM}"})
        ),
        calls((EVERY_FORM, {}), ("terminal", {"command": EVERY_FORM})),
        say(f"It is {EVERY_FORM}"),
    )
    conversation = with_secret(server, scripted_llm, work)
    route = f"/api/conversations/{conversation}"
    with opened(server, f"events/{conversation}") as socket, opened(server, "bash-events") as bash_socket:
        server.call("POST", f"{route}/events", json=message(f"Use {EVERY_FORM}", run=True))
        wait_until(lambda: status_of(server, conversation) == "finished")
        scripted_llm.script(say(f"It is {EVERY_FORM}"))
        answer = server.call("POST", f"{route}/ask_agent", json={"question": f"Is it {EVERY_FORM}?"})
        command = {"command": f"printf %s {FORMS['base64']}; echo; echo {FORMS['hex']} >&2"}
        output = server.call("POST", "/api/bash/execute_bash_command", json=command)
        frames = frames_until(socket, lambda one: one.get("value") == "finished")
        bash = frames_until(bash_socket, lambda one: one.get("exit_code") == 0)
    with httpx.Client(
        base_url=server.url, headers={"X-Session-API-Key": KEY}, timeout=PATIENCE_SECONDS
    ) as client:
        archive = client.get(f"/api/file/download-trajectory/{conversation}").content
        atif = client.get(f"/api/file/download-trajectory/{conversation}", params={"format": "atif"}).text

    deltas = "".join(
        str(one.get("content") or "") for one in frames if one.get("kind") == "StreamingDeltaEvent"
    )
    assert {"ActionEvent", "ObservationEvent", "AgentErrorEvent", "MessageEvent"} <= {
        one.get("kind") for one in frames
    }
    assert "It is <secret-hidden>" in deltas
    sinks = {
        "the conversation, its title": server.call("GET", route),
        "the list": server.call("GET", "/api/conversations/search"),
        "the events": server.events(conversation),
        "the socket": frames,
        "the deltas, joined": deltas,
        "an answer": answer,
        "a client's command": output,
        "the bash socket": bash,
        "the bash events": server.call("GET", "/api/bash/bash_events/search"),
        "the zip": everything_in(archive),
        "ATIF": atif,
        "the log": server.log_text(),
        "what the model sees": [request.messages for request in scripted_llm.requests],
    }
    for where, said in sinks.items():
        assert_hidden(where, said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))
        assert_hidden(where, str(said))
    assert_no_file_shows(server)


@pytest.mark.parametrize("by", ["the creation", "the user", "the model"])
def test_no_title_shows_a_secret(server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, by: str):
    scripted_llm.aside = say(f"Use {EVERY_FORM}")
    scripted_llm.fallback = say("Done.")
    given = {"the creation": {"title": f"Use {VALUE}"}, "the model": {"autotitle": True}}.get(by, {})
    conversation = with_secret(server, scripted_llm, tmp_path / "work", **given)
    route = f"/api/conversations/{conversation}"
    server.call("POST", f"{route}/events", json=message(f"Use {EVERY_FORM}", run=True))
    if by == "the user":
        server.call("PATCH", route, json={"title": f"Use {VALUE}"})
    wait_until(lambda: status_of(server, conversation) == "finished")
    wait_until(lambda: server.call("GET", route)["title"])

    title = server.call("GET", route)["title"]
    assert title.startswith("Use <secret-hidden>")
    listed = server.call("GET", "/api/conversations/search")
    assert_hidden("a title", json.dumps([title, listed, server.events(conversation)], ensure_ascii=False))
    assert_no_file_shows(server)


def test_a_title_that_is_cut_shows_nothing_of_a_secret(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.aside = say(f"{'x' * (MAX_TITLE_CHARS - 15)} {VALUE}")
    scripted_llm.fallback = say("Done.")
    conversation = with_secret(server, scripted_llm, tmp_path / "work", autotitle=True)
    route = f"/api/conversations/{conversation}"
    server.call("POST", f"{route}/events", json=message("Look.", run=True))
    wait_until(lambda: server.call("GET", route)["title"])

    assert VALUE[:8] not in str(server.call("GET", route)["title"])
    assert VALUE[:8] not in json.dumps(server.events(conversation))


def test_nothing_of_a_sub_agent_shows_a_secret(
    server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    work = tmp_path / "work"
    told = f"Look at {EVERY_FORM}"
    told_as = [
        {"prompt": told, "description": told},
        # Without a description, the prompt becomes the title, and the title is cut.
        {"prompt": f"{'x' * 190} {VALUE}"},
    ]
    tool_set = {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
    scripted_llm.script(
        *(
            turn
            for task in told_as
            for turn in (
                call("task", **task),
                calls(("terminal", {"command": "echo $TOKEN", "summary": EVERY_FORM}), thought=EVERY_FORM),
                say(f"It is {EVERY_FORM}"),
            )
        ),
        say(f"They say {EVERY_FORM}"),
    )
    parent = with_secret(server, scripted_llm, work, agent=tool_set)
    server.call("POST", f"/api/conversations/{parent}/events", json=message("Begin.", run=True))
    wait_until(lambda: status_of(server, parent) == "finished")

    assert scripted_llm.turns_left == 0
    tasks = server.call("GET", f"/api/conversations/{parent}")["agent_state"]["tasks"]
    children = [task["conversation_id"] for task in tasks.values()]
    assert len(children) == len(told_as)
    for one in (parent, *children):
        shown = [server.call("GET", f"/api/conversations/{one}"), server.events(one)]
        assert "<secret-hidden>" in json.dumps(shown)
        assert_hidden(one, json.dumps(shown, ensure_ascii=False))
        assert VALUE[:8] not in json.dumps(shown[0])
    assert_hidden("the model's sight", str([request.messages for request in scripted_llm.requests]))
    assert_hidden("the log", server.log_text())
    assert_no_file_shows(server)
