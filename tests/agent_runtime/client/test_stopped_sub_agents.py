"""Tests of sub-agents that wait for a confirmation, that are stopped, or that start sub-agents."""

import pytest

from agent_runtime import AlwaysConfirm, ExecutionStatus
from tests.agent_runtime.client.conftest import Place
from tests.agent_runtime.client.delegating import (
    PRICES,
    agent_file,
    by_prompt,
    parent,
    results,
    results_in,
    steps,
    task,
    tasks,
)
from tests.agent_runtime.server.conftest import wait_until
from tests.support.scripted_llm import call, calls, hang, say

pytestmark = pytest.mark.usefixtures("empty_home")


@pytest.fixture
def place(local_or_remote: Place) -> Place:
    return local_or_remote


def test_what_a_sub_agent_asks_is_asked_of_the_user(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Write."), say("Done.")),
        Write=steps(call("terminal", command="touch written", summary="Write a file"), say("Written.")),
    )
    conversation = parent(place, confirmation_policy=AlwaysConfirm())

    conversation.send_message("Begin.")
    conversation.run()
    assert conversation.state.execution_status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    conversation.run()  # approves the task itself

    assert conversation.state.execution_status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    (told,) = tasks(conversation).values()
    assert (told["status"], told["last_action"]) == ("waiting", "Write a file")
    (asked,) = told["asks"]
    assert asked["action"]["command"] == "touch written"
    assert place.workspace.execute_command("ls").stdout == ""
    conversation.run()  # approves the action of the sub-agent

    assert conversation.state.execution_status is ExecutionStatus.FINISHED
    assert results(conversation)[0]["content"][0]["text"] == "Written."
    assert place.workspace.execute_command("ls").stdout == "written\n"


def test_what_the_user_rejects_is_not_done_and_the_sub_agent_is_told_why(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Write."), say("Done.")),
        Write=lambda request: (
            say(f"Refused: {results_in(request)[0]}")
            if results_in(request)
            else call("terminal", command="touch written")
        ),
    )
    conversation = parent(place, confirmation_policy=AlwaysConfirm())
    conversation.send_message("Begin.")
    conversation.run()
    conversation.run()

    conversation.reject_pending_actions("Not in this directory.")
    conversation.run()

    assert conversation.state.execution_status is ExecutionStatus.FINISHED
    assert "Not in this directory." in results(conversation)[0]["content"][0]["text"]
    assert place.workspace.execute_command("ls").stdout == ""


def test_a_secret_is_as_hidden_in_a_sub_agent_as_in_its_caller(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Show."), say("Done.")),
        Show=lambda request: (
            say(f"It is {results_in(request)[0]}")
            if results_in(request)
            else call("terminal", command='printf %s "$DEPLOY_TOKEN"; printf %s "$DEPLOY_TOKEN" > kept')
        ),
    )
    conversation = parent(place, secrets={"DEPLOY_TOKEN": "tr0ub4dor&3"})

    conversation.send_message("Begin.")
    conversation.run()

    assert place.workspace.execute_command("wc -c < kept").stdout == "11\n"
    assert not any("tr0ub4dor" in str(request.body) for request in place.llm.requests)
    assert "<secret-hidden>" in results(conversation)[0]["content"][0]["text"]


def test_an_interrupt_stops_the_sub_agents_and_each_task_can_be_resumed(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(
            calls(task("Sleep."), task("Think.")),
            call("task", prompt="Go on.", resume="task_00000001"),
            say("Done."),
        ),
        Sleep=steps(call("terminal", command="echo $$ > shell; sleep 600"), say("Awake.")),
        Think=lambda _: hang(),
    )
    conversation = parent(place)
    conversation.send_message("Begin.")
    conversation.run(blocking=False)
    wait_until(
        lambda: place.workspace.execute_command("pgrep -P $(cat shell) sleep").exit_code == 0,
        timeout_seconds=60,
    )

    conversation.interrupt()

    assert conversation.state.execution_status is ExecutionStatus.PAUSED
    assert {one["status"] for one in tasks(conversation).values()} == {"interrupted"}
    assert place.workspace.execute_command("pgrep -P $(cat shell) sleep").exit_code != 0
    answered = [event.error for event in conversation.state.events if event.kind == "AgentErrorEvent"]
    assert len(answered) == 2
    assert all("Interrupted by the user" in error for error in answered)
    conversation.run()

    assert results(conversation)[-1]["content"][0]["text"] == "Awake."


def test_a_pause_reaches_the_sub_agent_and_nothing_is_lost(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Work."), say("Done.")),
        Work=steps(
            call(
                "terminal", command="touch begun; until [ -e go ]; do read -t 0.05 < /dev/zero || true; done"
            ),
            say("Worked."),
        ),
    )
    conversation = parent(place)
    conversation.send_message("Begin.")
    conversation.run(blocking=False)
    wait_until(lambda: place.workspace.execute_command("ls begun").exit_code == 0, timeout_seconds=60)

    conversation.pause()
    place.workspace.execute_command("touch go")
    conversation.wait()

    assert conversation.state.execution_status is ExecutionStatus.PAUSED
    assert tasks(conversation)["task_00000001"]["status"] == "paused"
    conversation.run()

    assert results(conversation)[0]["content"][0]["text"] == "Worked."
    assert conversation.final_response == "Done."
    assert not [event for event in conversation.state.events if event.kind == "AgentErrorEvent"]


@pytest.mark.parametrize("local_or_remote", ["local"], indirect=True)
def test_the_whole_tree_has_a_number_of_tasks(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agent_runtime.delegation.tasks.MAX_TASKS", 2)
    agent_file(place, ".agents/agents", "chief", "description: Delegates.\ntools: [task_tool_set]")
    place.llm.fallback = by_prompt(
        Begin=steps(
            call("task", prompt="First.", subagent_type="chief"),
            call("task", prompt="Third.", subagent_type="chief"),
            say("Done."),
        ),
        First=steps(call("task", prompt="Second.", subagent_type="chief"), say("Done.")),
        Second=steps(say("Done, too.")),
    )
    conversation = parent(place)

    conversation.send_message("Begin.")
    conversation.run()

    assert len(tasks(conversation)) == 1
    assert "at most 2 tasks in all" in place.llm.requests[-1].last_text


def test_sub_agents_have_sub_agents_and_these_have_none(place: Place):
    agent_file(place, ".agents/agents", "chief", "description: Delegates.\ntools: [task_tool_set]")
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="First.", subagent_type="chief"), say("Done.")),
        First=lambda request: (
            say(f"Heard: {results_in(request)[0]}")
            if results_in(request)
            else call("task", prompt="Second.", subagent_type="chief")
        ),
        Second=lambda request: say(f"I have {', '.join(request.tool_names)}."),
    )
    conversation = parent(place, llm=PRICES)

    conversation.send_message("Begin.")
    conversation.run()

    assert "I have finish, think." in results(conversation)[0]["content"][0]["text"]
    # The models gave five replies in three conversations, at 0.20 dollars each.
    assert conversation.state.cost == pytest.approx(5 * 0.2)
