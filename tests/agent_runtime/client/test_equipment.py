"""Tests of what a program can add to a conversation: hooks, plugins, tools, analyzers, goals, tags."""

import json
from pathlib import Path

import pytest

from agent_runtime import (
    ActionEvent,
    AlreadyRunningError,
    ClientCallNotWaitingError,
    ClientToolSpec,
    ConfirmRisky,
    Conversation,
    ConversationError,
    ExecutionStatus,
    HookConfig,
    HookConfigError,
    HookDefinition,
    HookMatcher,
    NoGoalToResumeError,
    ObservationEvent,
    PatternSecurityAnalyzer,
    PluginSource,
)
from tests.agent_runtime.client.conftest import Place, kinds
from tests.support.mcp_processes import HASHED, STDIO, hash_of
from tests.support.scripted_llm import Turn, call, hold, say, text_of

pytestmark = pytest.mark.parametrize("place", ["local", "remote"], indirect=True)


def verdict(*, complete: bool, missing: str = "") -> Turn:
    return say(json.dumps({"complete": complete, "score": 0.5, "missing": missing}))


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Writes a plugin with a skill, a hook, and an MCP server that has a secret. Returns its directory."""
    top = tmp_path / "weather"
    (top / ".plugin").mkdir(parents=True)
    (top / ".plugin/plugin.json").write_text('{"name": "weather"}')
    (top / "skills/clouds").mkdir(parents=True)
    (top / "skills/clouds/SKILL.md").write_text(
        "---\nname: clouds\ndescription: Reads clouds.\n---\nLook up."
    )
    (top / "hooks").mkdir()
    hook = {"hooks": [{"type": "command", "command": "echo plugin >> stopped"}]}
    (top / "hooks/hooks.json").write_text(json.dumps({"hooks": {"Stop": [hook]}}))
    server = {**STDIO, "env": {"OWN_KEY": "plugin-key"}}
    (top / ".mcp.json").write_text(json.dumps({"mcpServers": {"sums": server}}))
    return top


def observed(conversation: Conversation) -> list[str]:
    events = conversation.state.events
    return [str(event.observation["content"]) for event in events if isinstance(event, ObservationEvent)]


def test_a_hook_keeps_a_command_from_running(place: Place):
    place.llm.script(call("terminal", command="touch forbidden"), say("I may not."))
    deny = HookDefinition(command="echo 'not today' >&2; exit 2")
    conversation = place.conversation(
        hook_config=HookConfig(pre_tool_use=[HookMatcher(matcher="terminal", hooks=[deny])])
    )
    conversation.send_message("Go.")

    conversation.run()

    assert place.workspace.execute_command("ls").stdout == ""
    assert "not today" in place.llm.requests[1].last_text
    assert conversation.final_response == "I may not."


def test_invalid_hooks_are_refused(place: Place):
    with pytest.raises(HookConfigError):
        place.conversation(hook_config={"pre_tool_use": "everything"})


def test_a_plugin_brings_skills_hooks_and_servers_also_after_coming_back(place: Place, plugin: Path):
    ask = call("environment", name=f"{HASHED}OWN_KEY")
    place.llm.script(ask, say("Sunny."), ask, say("Still sunny."))
    first = place.conversation(plugins=[PluginSource(source=str(plugin))])
    first.send_message("Go.")
    first.run()
    first.close()

    again = place.conversation(conversation_id=first.id)
    again.send_message("Once more.")
    again.run()

    assert "Reads clouds." in text_of(place.llm.requests[0].messages[0])
    assert place.workspace.execute_command("cat stopped").stdout == "plugin\nplugin\n"
    assert [hash_of("plugin-key") in text for text in observed(again)] == [True, True]


def test_a_plugin_that_cannot_be_had_is_refused(place: Place, tmp_path: Path):
    with pytest.raises(ConversationError, match="no directory") as caught:
        place.conversation(plugins=[str(tmp_path / "nowhere")])
    assert caught.value.code == "plugin_not_fetched"

    (tmp_path / "empty").mkdir()
    with pytest.raises(ConversationError) as caught:
        place.conversation(plugins=[str(tmp_path / "empty")])
    assert caught.value.code == "plugin_unusable"


def test_a_plugin_is_added_on_the_way(place: Place, plugin: Path):
    place.llm.script(say("Hello."), call("add", a=1, b=2), say("Three."))
    conversation = place.conversation()
    conversation.send_message("Hello?")
    conversation.run()

    with pytest.raises(ConversationError) as caught:
        conversation.load_plugin("nowhere")
    assert caught.value.code == "plugin_not_found"
    conversation.load_plugin(str(plugin))
    conversation.send_message("1 + 2?")
    conversation.run()

    assert "sum=3" in observed(conversation)[0]
    conversation.close()
    assert place.conversation(conversation_id=conversation.id).id == conversation.id


def test_a_tool_of_the_program_is_called_and_answered_by_it(place: Place):
    place.llm.script(call("show_map", city="Oslo"), say("There you are."), lambda r: say(r.last_text))
    tool = ClientToolSpec(
        name="show_map",
        description="Shows the user a map.",
        parameters={"properties": {"city": {"type": "string"}}, "required": ["city"]},
    )
    conversation = place.conversation(client_tools=[tool])
    conversation.send_message("Where is it?")
    conversation.run()

    [asked] = [event for event in conversation.state.events if isinstance(event, ActionEvent)]
    assert asked.tool_name == "show_map"
    assert json.loads(asked.tool_call.arguments) == {"city": "Oslo"}
    conversation.send_message("The user has closed the map.")
    conversation.run()
    assert conversation.final_response == "The user has closed the map."


def test_the_answer_of_the_program_is_the_result_of_a_client_tools_call(place: Place):
    place.llm.script(call("ask_user", question="Which port?"), lambda request: say(request.last_text))
    tool = ClientToolSpec(name="ask_user", description="Asks the user.", awaits_answer=True)

    def answer(event: object) -> None:
        if isinstance(event, ActionEvent) and event.tool_name == "ask_user":
            conversation.answer_client_tool(event, "8080")

    conversation = place.conversation(client_tools=[tool], callbacks=[answer])
    conversation.send_message("Ask me.")
    conversation.run()

    assert conversation.final_response == "8080"
    [asked] = [event for event in conversation.state.events if isinstance(event, ActionEvent)]
    with pytest.raises(ClientCallNotWaitingError):
        conversation.answer_client_tool(asked, "9090")


def test_an_analyzer_says_what_has_to_be_confirmed(place: Place):
    deploys = [call("terminal", command="true deploy"), call("terminal", command="true deploy again")]
    place.llm.script(*deploys, say("Done."))
    wary = PatternSecurityAnalyzer(high_patterns=[["deploy", "it deploys", "deploy"]])
    conversation = place.conversation(
        confirmation_policy=ConfirmRisky(confirm_unknown=False), security_analyzer=wary
    )
    conversation.send_message("Go.")

    conversation.run()
    assert conversation.state.execution_status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    conversation.set_security_analyzer(None)
    conversation.run()

    assert conversation.state.execution_status is ExecutionStatus.FINISHED
    assert conversation.state.info.security_analyzer is None


def test_a_goal_is_pursued_until_the_judge_is_content(place: Place):
    place.llm.script(
        say("Done."), verdict(complete=False, missing="the tests"), say("Now."), verdict(complete=True)
    )
    conversation = place.conversation()
    assert conversation.state.goal is None

    conversation.pursue_goal("All is tested.", max_iterations=3)

    goal = conversation.state.goal
    assert goal is not None
    assert (goal.status, goal.iteration, goal.objective) == ("complete", 2, "All is tested.")
    assert "the tests" in place.llm.requests[2].last_text
    with pytest.raises(NoGoalToResumeError):
        conversation.resume_goal()


def test_a_goal_is_stopped_and_taken_up_again(place: Place):
    judging = hold(verdict(complete=False))
    place.llm.script(say("Done."), judging, say("Done again."), verdict(complete=True))
    conversation = place.conversation()
    conversation.pursue_goal("It works.", blocking=False)
    place.llm.wait_for_request(2)
    with pytest.raises(AlreadyRunningError):
        conversation.pursue_goal("Something else.")

    conversation.stop_goal()
    judging.release()
    conversation.wait()
    stopped = conversation.state.goal
    conversation.resume_goal()

    assert stopped is not None
    assert stopped.status == "interrupted"
    assert conversation.state.goal is not None
    assert conversation.state.goal.status == "complete"
    assert "ConversationErrorEvent" not in kinds(conversation.state.events)


def test_tags_are_given_at_the_start_and_replaced_later(place: Place):
    conversation = place.conversation(tags={"team": "blue"})
    assert conversation.state.tags == {"team": "blue"}

    conversation.update(tags={"sprint": "7"})

    assert conversation.state.tags == {"sprint": "7"}
