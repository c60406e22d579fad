"""Tests of the SDK client's WebSocket: who may listen, what is sent after a lost connection, and when it
ends.
"""

import json
import os
import threading
import uuid
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from openhands.sdk import Conversation, RemoteConversation
from openhands.sdk.conversation.impl.remote_conversation import WebSocketCallbackClient
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ConversationStateUpdateEvent, Event, MessageEvent, ObservationEvent
from openhands.sdk.workspace import RemoteWorkspace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.compat.conftest import Begin, Heard, kinds, make_agent, only, workspace_on
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, hang, say

AUTH = json.dumps({"type": "auth", "session_api_key": KEY})


def close_code(server: AgentServer, conversation_id: object, first_frame: str) -> int:
    with connect(
        f"{server.ws_url}/sockets/events/{conversation_id}", open_timeout=PATIENCE_SECONDS
    ) as socket:
        socket.send(first_frame)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE_SECONDS)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


@pytest.mark.parametrize(
    "frame", ['{"type": "auth", "session_api_key": "wrong"}', '{"type": "auth"}', "no JSON"]
)
def test_a_listener_with_a_wrong_key_is_closed_for_good(server: AgentServer, begin: Begin, frame: str):
    assert close_code(server, begin().id, frame) == 4001


def test_a_listener_to_an_unknown_conversation_is_closed_for_good(server: AgentServer):
    assert close_code(server, uuid.uuid4(), AUTH) == 4004


def test_an_unknown_conversation_cannot_be_attached_to(workspace: RemoteWorkspace):
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        RemoteConversation.attach(workspace, uuid.uuid4(), visualizer=None)


def test_the_clients_own_socket_gives_up_where_there_is_nothing(server: AgentServer):
    client = WebSocketCallbackClient(server.url, str(uuid.uuid4()), lambda event: None, api_key=KEY)
    client.start()

    assert not client.wait_until_ready(timeout=PATIENCE_SECONDS)
    assert client._stop.is_set()


def test_a_conversation_deleted_by_another_ends_the_clients_socket(begin: Begin, workspace: RemoteWorkspace):
    conversation = begin()
    client = conversation._ws_client
    assert client is not None
    assert client._thread is not None

    workspace.client.delete(f"/api/conversations/{conversation.id}").raise_for_status()

    client._thread.join(timeout=PATIENCE_SECONDS)
    assert client._stop.is_set()


def resent(server: AgentServer, conversation_id: object, **query: str) -> list[Event]:
    """Returns the stored events that a new listener receives before anything new happens, without state
    updates.
    """
    found: list[Event] = []
    address = f"{server.ws_url}/sockets/events/{conversation_id}?{urlencode(query)}"
    with connect(address, open_timeout=PATIENCE_SECONDS) as socket:
        socket.send(AUTH)
        states_to_come = 2 if query else 1
        while states_to_come:
            event = Event.model_validate_json(socket.recv(timeout=PATIENCE_SECONDS))
            if isinstance(event, ConversationStateUpdateEvent):
                states_to_come -= event.key == "full_state"
            else:
                found.append(event)
    return found


def test_a_listener_is_resent_what_it_asks_for(server: AgentServer, begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))
    conversation = begin()
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)
    everything = [one for one in conversation.state.events if one.kind != "ConversationStateUpdateEvent"]

    def ids(**query: str) -> list[str]:
        return [event.id for event in resent(server, conversation.id, **query)]

    assert ids() == []
    assert ids(resend_mode="all") == [event.id for event in everything]
    since = ids(resend_mode="since", after_timestamp=everything[-1].timestamp)
    assert since == [everything[-1].id]


def test_a_message_over_the_socket_starts_a_run(server: AgentServer, begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Hello."))
    heard = Heard()
    conversation = begin(callbacks=[heard])
    with connect(
        f"{server.ws_url}/sockets/events/{conversation.id}", open_timeout=PATIENCE_SECONDS
    ) as socket:
        socket.send(AUTH)
        socket.send(json.dumps({"role": "user", "content": [{"type": "text", "text": "Hi."}]}))
        heard.wait_for_status("finished")

    assert [event.source for event in only(conversation.state.events, MessageEvent)] == ["user", "agent"]


def test_what_happens_while_the_client_is_cut_off_reaches_it_after_all(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(say("One."), say("Two."))
    heard = Heard()
    workspace = workspace_on(own_server, tmp_path)
    conversation = Conversation(
        agent=make_agent(scripted_llm),
        workspace=workspace,
        visualizer=None,
        callbacks=[heard],
        delete_on_close=False,
    )
    conversation.send_message("first")
    conversation.run(timeout=PATIENCE_SECONDS)
    before = len(heard.events)

    own_server.kill()
    own_server.start()
    url = f"/api/conversations/{conversation.id}/events"
    message = {"role": "user", "content": [{"type": "text", "text": "second"}], "run": True}
    workspace.client.post(url, json=message).raise_for_status()

    heard.wait_for(lambda event: isinstance(event, MessageEvent) and "Two." in event.model_dump_json())
    assert kinds(heard.events[before:]) == ["MessageEvent", "MessageEvent"]
    ids = [event.id for event in heard.events if event.kind != "ConversationStateUpdateEvent"]
    assert len(ids) == len(set(ids))
    workspace.client.delete(f"/api/conversations/{conversation.id}")
    conversation.close()


def test_a_server_that_restarts_in_a_run_is_waited_for(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(hang(), say("Done after all."))
    workspace = workspace_on(own_server, tmp_path)
    conversation = Conversation(
        agent=make_agent(scripted_llm), workspace=workspace, visualizer=None, delete_on_close=False
    )
    conversation.send_message("Go.")
    waiting = threading.Thread(target=conversation.run, kwargs={"timeout": PATIENCE_SECONDS})
    waiting.start()
    scripted_llm.wait_for_request(1)

    own_server.kill()
    own_server.start()

    waiting.join(timeout=PATIENCE_SECONDS)
    assert not waiting.is_alive()
    assert conversation.state.execution_status is Status.FINISHED
    workspace.client.delete(f"/api/conversations/{conversation.id}")
    conversation.close()


def test_keys_and_secrets_outlive_a_restart_of_a_server_with_a_secret_key(
    tmp_path: Path, scripted_llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OH_SECRET_KEY", "a key that stays")
    server = AgentServer(tmp_path, python=os.environ["SLIPWAY_PYTHON"])
    server.start()
    workspace = workspace_on(server, tmp_path)
    heard = Heard()
    conversation = Conversation(
        agent=make_agent(scripted_llm, "terminal"),
        workspace=workspace,
        visualizer=None,
        callbacks=[heard],
        secrets={"TOKEN": "correct-horse"},
        delete_on_close=False,
    )
    heard.wait_for_status("idle")
    server.kill()
    heard.events.clear()
    server.start()
    # If the client begins a run now, it takes the first state after its reconnection for the end of the run.
    heard.wait_for_status("idle")

    scripted_llm.script(call("terminal", command="echo $TOKEN | wc -c; echo $TOKEN"), say("Done."))
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert [request.bearer for request in scripted_llm.requests] == [scripted_llm.api_key] * 2
    (answer,) = only(conversation.state.events, ObservationEvent)
    assert answer.observation.text.splitlines()[:2] == ["14", "<secret-hidden>"]
    conversation.close()
    server.stop()
