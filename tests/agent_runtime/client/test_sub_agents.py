"""Tests of tasks that an agent gives to sub-agents, in process and on a server."""

from uuid import UUID

import pytest

from agent_runtime import ConversationRunError, ExecutionStatus
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
from tests.support.scripted_llm import call, calls, say, text_of

pytestmark = pytest.mark.usefixtures("empty_home")


@pytest.fixture
def place(local_or_remote: Place) -> Place:
    return local_or_remote


def test_a_sub_agent_works_by_itself_and_its_report_is_the_result(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(
            call("task", prompt="Count the files.", description="Count files"), say("There are two.")
        ),
        Count=steps(call("terminal", command="touch a b; ls | wc -l"), call("finish", message="Two files.")),
    )
    conversation = parent(place)

    conversation.send_message("Begin with my secret plan.")
    conversation.run()

    (result,) = results(conversation)
    assert (result["task_id"], result["subagent"], result["status"]) == (
        "task_00000001",
        "general-purpose",
        "completed",
    )
    assert result["content"][0]["text"] == "Two files."
    assert "task_00000001" in result["content"][1]["text"]
    assert conversation.final_response == "There are two."
    # The sub-agent has a separate context. It contains neither the messages nor the tools of its caller.
    (first, *_) = [one for one in place.llm.requests if "Count the files." in text_of(one.messages[1])]
    assert "secret plan" not in str(first.messages)
    assert set(first.tool_names) == {"terminal", "file_editor", "task_tracker", "finish", "think"}
    assert "report that stands by itself" in text_of(first.messages[0])
    told = tasks(conversation)["task_00000001"]
    assert (told["status"], told["description"]) == ("completed", "Count files")
    assert conversation.state.info.sub_conversation_ids == [UUID(told["conversation_id"])]


@pytest.mark.parametrize("kind", ["general-purpose", "code-explorer", "bash-runner", "web-researcher"])
def test_the_built_in_ones_work(place: Place, kind: str):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Look around.", subagent_type=kind), say("Done.")),
        Look=steps(call("terminal", command="echo here > seen"), say("I have seen it.")),
    )
    conversation = parent(place)

    conversation.send_message("Begin.")
    conversation.run()

    (result,) = results(conversation)
    assert (result["subagent"], result["content"][0]["text"]) == (kind, "I have seen it.")
    assert place.workspace.execute_command("cat seen").stdout == "here\n"


def test_several_work_at_once(place: Place):
    # Each command waits for the file that the other one writes: in sequence, the commands would never end.
    wait = "echo {0} > {0}; until [ -e {1} ]; do read -t 0.05 < /dev/zero || true; done; echo met"
    place.llm.fallback = by_prompt(
        Begin=steps(calls(task("Left."), task("Right.")), say("Both are done.")),
        Left=steps(call("terminal", command=wait.format("left", "right")), say("Left is done.")),
        Right=steps(call("terminal", command=wait.format("right", "left")), say("Right is done.")),
    )
    conversation = parent(place)

    conversation.send_message("Begin.")
    conversation.run()

    assert sorted(one["content"][0]["text"] for one in results(conversation)) == [
        "Left is done.",
        "Right is done.",
    ]
    assert conversation.final_response == "Both are done."


def test_what_sub_agents_use_is_counted_to_the_token(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(calls(task("Left."), task("Right.")), say("Done.")),
        Left=steps(call("terminal", command="true"), say("L", prompt_tokens=7, completion_tokens=3)),
        Right=steps(say("R", prompt_tokens=11, completion_tokens=5)),
    )
    conversation = parent(place, llm=PRICES)

    conversation.send_message("Begin.")
    conversation.run()

    used = conversation.state.info.stats["usage_to_metrics"]
    counted = {
        name: (
            one["accumulated_token_usage"]["prompt_tokens"],
            one["accumulated_token_usage"]["completion_tokens"],
        )
        for name, one in used.items()
    }
    left, right = sorted(name for name in counted if name.startswith("task:"))
    assert counted == {"agent": (200, 20), left: (107, 13), right: (11, 5)}
    assert used[left]["accumulated_cost"] == pytest.approx(0.107 + 0.13)
    assert used[right]["accumulated_cost"] == pytest.approx(0.011 + 0.05)
    by_cost = {one["cost"] for one in tasks(conversation).values()}
    assert by_cost == {used[left]["accumulated_cost"], used[right]["accumulated_cost"]}


def test_agents_of_the_project_come_first_and_have_the_tools_that_they_name(place: Place):
    agent_file(place, ".agents/agents", "reader", "description: Reads.\ntools: Read, Grep", "You only read.")
    agent_file(place, ".openhands/agents", "reader", "description: Another.")
    agent_file(place, ".claude/agents", "mender", "description: Mends.\ntools: [Bash, Edit, NoSuchTool]")
    agent_file(place, ".openhands/agents", "bash-runner", "description: The project's own.\ntools: [grep]")
    place.llm.fallback = by_prompt(
        Begin=steps(calls(*(task("Go.", subagent_type=kind) for kind in ("reader", "mender"))), say("Done.")),
        Go=steps(say("Gone.")),
    )
    conversation = parent(place, at_once=1)

    conversation.send_message("Begin.")
    conversation.run()

    first, reader, mender, *_ = place.llm.requests
    (described,) = [
        one["function"]["description"] for one in first.body["tools"] if one["function"]["name"] == "task"
    ]
    assert all(line in described for line in ("- reader: Reads.", "- mender: Mends.", "- general-purpose:"))
    assert "- bash-runner: The project's own." in described
    assert "Another." not in described
    assert set(reader.tool_names) == {"read_file", "grep", "finish", "think"}
    assert "You only read." in text_of(reader.messages[0])
    assert set(mender.tool_names) == {"terminal", "edit", "finish", "think"}
    assert "do not exist here" in text_of(mender.messages[0])
    assert "NoSuchTool" in text_of(mender.messages[0])


def test_a_task_that_cannot_be_taken_up_says_what_can(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(
            calls(task("Go.", subagent_type="wizard"), task("Go.", resume="task_00000009"), task("  ")),
            say("Done."),
        )
    )
    conversation = parent(place)

    conversation.send_message("Begin.")
    conversation.run()

    texts = [one["content"][0]["text"] for one in results(conversation)]
    assert all(one["is_error"] and one["status"] == "error" for one in results(conversation))
    assert any("no sub-agent wizard" in text and "general-purpose" in text for text in texts)
    assert any("no task task_00000009" in text for text in texts)
    assert any("prompt is empty" in text for text in texts)


def test_a_task_goes_on_where_it_stood_when_it_is_resumed(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(
            call("task", prompt="Find it."),
            call("task", prompt="And the other one?", resume="task_00000001"),
            say("Both."),
        ),
        Find=lambda request: say(f"Asked {len([m for m in request.messages if m['role'] == 'user'])} times."),
    )
    conversation = parent(place)

    conversation.send_message("Begin.")
    conversation.run()

    first, second = results(conversation)
    assert (first["task_id"], second["task_id"]) == ("task_00000001", "task_00000001")
    assert second["content"][0]["text"] == "Asked 2 times."
    assert len(tasks(conversation)) == 1


def test_a_sub_agent_stops_at_its_own_limits_and_can_go_on(place: Place):
    agent_file(
        place, ".agents/agents", "thrifty", "description: d\ntools: [terminal]\nmax_budget_per_run: 0.3"
    )
    agent_file(
        place, ".agents/agents", "brief", "description: d\ntools: [terminal]\nmax_iteration_per_run: 2"
    )
    busy = call("terminal", command="true")
    place.llm.fallback = by_prompt(
        Begin=steps(
            calls(task("Spend.", subagent_type="thrifty"), task("Walk.", subagent_type="brief")),
            call("task", prompt="Go on.", resume="task_00000001"),
            say("Done."),
        ),
        Spend=lambda request: busy if len(results_in(request)) < 3 else say("Spent."),
        Walk=lambda _: busy,
    )
    conversation = parent(place, at_once=1, llm=PRICES)

    conversation.send_message("Begin.")
    conversation.run()

    spent, walked = (one["content"][0]["text"] for one in results(conversation)[:2])
    assert "used up its budget" in spent
    assert "2 replies" in walked
    assert tasks(conversation)["task_00000001"]["cost"] == pytest.approx(0.8)
    assert conversation.state.execution_status is ExecutionStatus.FINISHED


def test_what_sub_agents_spend_counts_against_the_budget_of_their_caller(place: Place):
    place.llm.fallback = by_prompt(
        Begin=steps(call("task", prompt="Spend."), say("Done.")),
        Spend=lambda _: call("terminal", command="true"),
    )
    conversation = parent(place, llm={**PRICES, "max_budget_per_task": 1.0})

    conversation.send_message("Begin.")
    with pytest.raises(ConversationRunError) as caught:
        conversation.run()

    assert caught.value.code == "MaxBudgetReached"
    assert 1.0 <= conversation.state.cost <= 1.2 + 1e-9
    assert "budget of this conversation is spent" in results(conversation)[0]["content"][0]["text"]
