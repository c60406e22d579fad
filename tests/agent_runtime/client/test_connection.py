"""Tests of the library with lost connections, restarted agent servers and keys that the server refuses."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_runtime import (
    LLM,
    Agent,
    AnyEvent,
    Conversation,
    ConversationError,
    ConversationRunError,
    DisconnectedError,
    ExecutionStatus,
    RemoteWorkspace,
    ToolSpec,
    WorkspaceError,
)
from tests.support.agent_server import KEY, AgentServer
from tests.support.cutting_proxy import CuttingProxy
from tests.support.ports import free_port
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, fail, hang, hold, say
from tests.support.server import wait_until

WAIT = "for _ in $(seq 6000); do [ -e go ] && exit 0; sleep 0.02; done; exit 1"


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[AgentServer]:
    """Yields a started agent server for a test that kills it."""
    server = AgentServer(tmp_path)
    server.start()
    yield server
    server.kill()


def agent(llm: ScriptedLLM) -> Agent:
    model = LLM(
        model="openai/scripted", base_url=llm.base_url, api_key=llm.api_key, num_retries=0, stream=True
    )
    return Agent(llm=model, tools=[ToolSpec(name="terminal")])


def workspace(url: str, tmp_path: Path, *, patience_seconds: float = 30) -> RemoteWorkspace:
    return RemoteWorkspace(
        url, api_key=KEY, working_dir=str(tmp_path / "work"), patience_seconds=patience_seconds
    )


def test_a_cut_connection_in_mid_run_loses_and_doubles_nothing(
    agent_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    told: list[AnyEvent] = []
    with CuttingProxy(agent_server.port) as proxy:

        def cut(event: AnyEvent) -> None:
            told.append(event)
            if event.kind in {"ActionEvent", "ObservationEvent"}:
                proxy.cut()

        remote = workspace(f"http://127.0.0.1:{proxy.port}", tmp_path)
        scripted_llm.script(*(call("terminal", command=f"echo {n}") for n in range(5)), say("Counted."))
        with Conversation(agent(scripted_llm), remote, callbacks=[cut]) as conversation:
            conversation.send_message("Count.")
            conversation.run()

            assert conversation.final_response == "Counted."
            assert told == list(conversation.state.events)
            stored = agent_server.events(str(conversation.id))
        remote.close()
        assert [event.id for event in told] == [event["id"] for event in stored]
        assert len(told) == len({event.id for event in told})


def test_a_server_killed_in_mid_command_goes_on_when_it_is_back(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(call("terminal", command="touch begun; sleep 600"), say("It was interrupted."))
    told: list[AnyEvent] = []
    with Conversation(
        agent(scripted_llm), workspace(own_server.url, tmp_path), callbacks=[told.append]
    ) as conversation:
        conversation.send_message("Go.")
        restart = threading.Thread(target=_restart_when, args=(own_server, tmp_path / "work" / "begun"))
        restart.start()
        conversation.run()
        restart.join()

        assert conversation.final_response == "It was interrupted."
        assert told == list(conversation.state.events)
        assert len(told) == len({event.id for event in told})
        assert "AgentErrorEvent" in [event.kind for event in told]


ENDS = {"MessageEvent", "ConversationErrorEvent"}


def guarded_by(key: str) -> Callable[[Request], Turn]:
    return lambda request: say("The key fits.") if request.bearer == key else fail(401, error="no key")


def test_a_server_that_was_started_again_is_given_the_key_again(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    refusal = hold(fail(401, error="no key"))
    scripted_llm.script(hang(), refusal)
    scripted_llm.fallback = guarded_by(scripted_llm.api_key)
    with Conversation(agent(scripted_llm), workspace(own_server.url, tmp_path)) as conversation:
        conversation.send_message("Go.")
        conversation.run(blocking=False)
        scripted_llm.wait_for_request(1)
        own_server.kill()
        own_server.start()
        # The restarted server goes on with the run by itself, but it does not have the model's key yet.
        scripted_llm.wait_for_request(2)
        conversation.send_message("Are you there?")
        assert "MessageEvent" in [event.kind for event in conversation.state.events[3:]]  # connected again

        conversation.run(blocking=False)
        refusal.release()
        conversation.wait()

        assert conversation.final_response == "The key fits."
        assert scripted_llm.requests[1].bearer != scripted_llm.api_key


def test_a_run_that_begins_before_the_server_has_the_key_is_begun_again(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.fallback = guarded_by(scripted_llm.api_key)
    with Conversation(agent(scripted_llm), workspace(own_server.url, tmp_path)) as conversation:
        conversation.send_message("Go.")
        own_server.kill()
        own_server.start()

        conversation.run(blocking=False)
        # These events arrive over the new connection. When it is open, the server has received the key again.
        wait_until(
            lambda: any(event.kind in ENDS for event in conversation.state.events[2:]),
            lambda: f"a reply or an error, not only {conversation.state.events}",
        )
        conversation.wait()

        assert conversation.final_response == "The key fits."


def test_what_is_asked_while_the_server_is_away_is_answered_when_it_is_back(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    with Conversation(agent(scripted_llm), workspace(own_server.url, tmp_path)) as conversation:
        own_server.kill()
        back = threading.Thread(target=own_server.start)
        back.start()

        conversation.send_message("Are you there?")
        back.join()

        assert [event.kind for event in conversation.state.events] == ["SystemPromptEvent", "MessageEvent"]


def test_a_server_that_stays_away_is_an_error_and_its_conversation_can_be_reopened(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(hang(), say("Here I am."))
    remote = workspace(own_server.url, tmp_path, patience_seconds=0.5)
    with Conversation(agent(scripted_llm), remote) as conversation:
        conversation.send_message("Go.")
        conversation.run(blocking=False)
        scripted_llm.wait_for_request(1)
        own_server.kill()

        with pytest.raises(DisconnectedError) as caught:
            conversation.run()
        assert caught.value.code == "disconnected"
        with pytest.raises(DisconnectedError):
            conversation.send_message("Hello?")
    own_server.start()

    with Conversation(agent(scripted_llm), remote, conversation_id=conversation.id) as again:
        again.run()
        assert again.final_response == "Here I am."


def test_a_deleted_conversation_is_gone_for_good(
    agent_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(hang())
    with Conversation(agent(scripted_llm), workspace(agent_server.url, tmp_path)) as conversation:
        conversation.send_message("Go.")
        conversation.run(blocking=False)
        deleting = threading.Thread(
            target=agent_server.call, args=("DELETE", f"/api/conversations/{conversation.id}")
        )
        deleting.start()

        with pytest.raises(ConversationError) as caught:
            conversation.wait()

        deleting.join()
    assert caught.value.code in {"disconnected", "conversation_not_found"}
    with agent_server.http as http:
        assert http.get(f"/api/conversations/{conversation.id}").status_code == 404


def test_a_run_goes_on_without_us(agent_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    reply = hold(say("Done meanwhile."))
    scripted_llm.script(reply)
    remote = workspace(agent_server.url, tmp_path)
    with Conversation(agent(scripted_llm), remote) as first:
        first.send_message("Go.")
        first.run(blocking=False)
    reply.release()

    with Conversation(agent(scripted_llm), remote, conversation_id=first.id) as second:
        second.wait()

        assert second.final_response == "Done meanwhile."
        assert second.state.execution_status is ExecutionStatus.FINISHED


def test_a_wrong_key_is_refused(agent_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path):
    remote = RemoteWorkspace(agent_server.url, api_key="wrong", working_dir=str(tmp_path))

    with pytest.raises(ConversationError) as caught:
        Conversation(agent(scripted_llm), remote)
    assert caught.value.code == "not_authenticated"
    with pytest.raises(WorkspaceError):
        remote.execute_command("true")


def test_a_host_that_does_not_listen_is_an_error_that_names_it(scripted_llm: ScriptedLLM, tmp_path: Path):
    remote = workspace(f"http://127.0.0.1:{free_port()}", tmp_path, patience_seconds=0)

    assert not remote.alive
    with pytest.raises(DisconnectedError, match=remote.host):
        Conversation(agent(scripted_llm), remote)
    with pytest.raises(DisconnectedError, match="Fix: "):
        remote.execute_command("true")


def test_something_else_at_that_address_is_recognised(scripted_llm: ScriptedLLM, tmp_path: Path):
    remote = workspace(scripted_llm.base_url, tmp_path)

    with pytest.raises(WorkspaceError, match="not as an agent server does"):
        Conversation(agent(scripted_llm), remote)


def test_a_tool_of_the_program_itself_cannot_be_sent(scripted_llm: ScriptedLLM, tmp_path: Path):
    own = agent(scripted_llm).model_copy(update={"tools": [ToolSpec(name="__main__:CountTool")]})

    with pytest.raises(ConversationError, match="part of this program") as caught:
        Conversation(own, workspace("http://127.0.0.1:1", tmp_path))

    assert caught.value.code == "tool_not_found"


def test_a_server_has_its_own_place_for_logs(scripted_llm: ScriptedLLM, tmp_path: Path):
    with pytest.raises(ValueError, match="persistence_dir"):
        Conversation(agent(scripted_llm), workspace("http://127.0.0.1:1", tmp_path), persistence_dir=tmp_path)


def test_a_key_that_was_wrong_from_the_start_is_not_tried_again(
    agent_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(fail(401, error="wrong key"))
    with Conversation(agent(scripted_llm), workspace(agent_server.url, tmp_path)) as conversation:
        conversation.send_message("Go.")
        with pytest.raises(ConversationRunError, match="wrong key"):
            conversation.run()

    assert len(scripted_llm.requests) == 1


def _restart_when(server: AgentServer, begun: Path) -> None:
    with server.http as http:
        body = {"command": WAIT.replace("go", begun.name), "cwd": str(begun.parent)}
        http.post("/api/bash/execute_bash_command", json=body).raise_for_status()
    server.kill()
    server.start()
