"""Tests of conversations that are opened again after a restart. The program has to give the keys again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_runtime import (
    LLM,
    Agent,
    Conversation,
    ConversationError,
    LLMSummarizingCondenser,
    LocalWorkspace,
    ObservationEvent,
    RemoteWorkspace,
    ToolSpec,
)
from tests.agent_runtime.client.conftest import Place, kinds
from tests.support.agent_server import KEY, AgentServer
from tests.support.mcp_processes import HASHED, STDIO, hash_of
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, fail, say


class Home:
    """A place whose conversations are kept after a restart. restart: restarts the agent server, if the place
    has one.
    """

    def __init__(self, place: Place, restart: Callable[[], None]) -> None:
        self.place = place
        self._restart = restart

    def reopened(self, conversation: Conversation, agent: Agent) -> Conversation:
        """Closes the conversation, calls `restart`, and opens the conversation again with `agent`. The
        conversation's keys are then no longer known.
        """
        conversation.close()
        self._restart()
        return self.place.conversation(agent, conversation_id=conversation.id)


@pytest.fixture(params=["local", "remote"])
def home(request: pytest.FixtureRequest, scripted_llm: ScriptedLLM, tmp_path: Path) -> Iterator[Home]:
    if request.param == "local":
        local = Place("local", scripted_llm, LocalWorkspace(tmp_path / "work"), tmp_path / "conversations")
        yield Home(local, lambda: None)
        local.close()
        return
    server = AgentServer(tmp_path)
    server.start()

    def restart() -> None:
        server.kill()
        server.start()

    remote = RemoteWorkspace(server.url, api_key=KEY, working_dir=str(tmp_path / "work"))
    place = Place("remote", scripted_llm, remote, None)
    yield Home(place, restart)
    place.close()
    server.stop()


def with_server(agent: Agent, key: str, **server: Any) -> Agent:
    return agent.model_copy(update={"mcp_config": {"sums": {**STDIO, "env": {"OWN_KEY": key}, **server}}})


def summing_up(agent: Agent, key: str, model: str = "openai/summer", **fields: Any) -> Agent:
    """Returns the agent with a condenser that uses another model with the API key `key`. fields: fields of
    the condenser.
    """
    own = LLM.model_validate(
        {**agent.llm.model_dump(), "model": model, "api_key": key, "usage_id": "condenser"}
    )
    return agent.model_copy(
        update={"condenser": LLMSummarizingCondenser(llm=own, **{"keep_first": 1, **fields})}
    )


def told(conversation: Conversation) -> list[str]:
    events = conversation.state.events
    return [e.observation["content"][-1]["text"] for e in events if isinstance(e, ObservationEvent)]


def test_mcp_servers_get_their_secrets_again_also_new_ones(home: Home):
    ask = call("environment", name=f"{HASHED}OWN_KEY")
    home.place.llm.script(ask, say("One."), ask, say("Two."))
    agent = home.place.agent()
    first = home.place.conversation(with_server(agent, "first-key"))
    first.send_message("Which key?")
    first.run()

    again = home.reopened(first, with_server(agent, "second-key"))
    again.send_message("And now?")
    again.run()

    assert told(again) == [hash_of("first-key"), hash_of("second-key")]


def test_a_condenser_gets_its_own_key_again(home: Home):
    def guarded(request: Request) -> Turn:
        key = "summer-key" if request.body["model"] == "summer" else home.place.llm.api_key
        return say("All summed up.") if request.bearer == key else fail(401, error="no key")

    home.place.llm.script(*(call("terminal", command=f"echo {n}") for n in range(8)), say("Eight."))
    agent = summing_up(home.place.agent(), "summer-key")
    first = home.place.conversation(agent)
    first.send_message("Count.")
    first.run()
    home.place.llm.fallback = guarded

    again = home.reopened(first, agent)
    again.condense()

    assert kinds(again.state.events)[-1] == "Condensation"


@pytest.mark.parametrize("has_other_model", [False, True])
def test_models_and_keys_may_be_others(home: Home, has_other_model: bool):
    def guarded(request: Request) -> Turn:
        is_known = request.bearer == home.place.llm.api_key
        return say(f"I am {request.body['model']}.") if is_known else fail(401, error="no key")

    home.place.llm.fallback = guarded
    first = home.place.conversation(
        with_server(summing_up(home.place.agent(), "one", max_size=100), "first-key")
    )
    own = home.place.agent(model="openai/other") if has_other_model else home.place.agent()

    again = home.reopened(
        first, with_server(summing_up(own, "two", model="openai/autumn", max_size=100), "second-key")
    )
    again.send_message("Who are you?")
    again.run()

    info = again.state.info.agent
    assert again.final_response == ("I am other." if has_other_model else "I am scripted.")
    assert info["condenser"]["llm"]["model"] == "openai/autumn"
    assert info["condenser"]["max_size"] == 100


def test_what_may_not_be_another_is_named(home: Home):
    agent = home.place.agent()
    first = home.place.conversation(with_server(summing_up(agent, "one", max_size=100), "key"))
    other = with_server(summing_up(agent, "two", max_size=200), "key", args=["-m", "other"]).model_copy(
        update={"tools": [ToolSpec(name="grep")], "system_prompt": "Be quick."}
    )

    with pytest.raises(ConversationError) as caught:
        home.reopened(first, other)

    assert caught.value.code == "agent_differs"
    assert "condenser.max_size, mcp_config.sums.args, system_prompt, tools differ" in str(caught.value)
    assert caught.value.fix
