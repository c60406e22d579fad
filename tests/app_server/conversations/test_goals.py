"""Tests of goals through the public API: a goal is set at the start or later, stopped and resumed. A judge
(a model) checks whether the goal is reached, and sends the agent back to work once.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.support.scripted_llm import ScriptedLLM, Turn, hold, say


def verdict(*, complete: bool, missing: str = "") -> Turn:
    return say(json.dumps({"complete": complete, "score": 0.4, "missing": missing}))


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


@pytest.fixture
async def profile(home: Home, scripted_llm: ScriptedLLM) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()


async def goal_becomes(home: Home, conversation_id: str, status: str) -> dict[str, Any]:
    async def check() -> Any:
        conversation = await home.conversation(conversation_id)
        goal = conversation["goal"]
        return goal if goal and goal["status"] == status else None

    goal: dict[str, Any] = await eventually(check)
    return goal


async def rests(home: Home, conversation_id: str) -> None:
    async def check() -> bool:
        return bool((await home.conversation(conversation_id))["execution_status"] == "finished")

    await eventually(check)


@pytest.mark.usefixtures("profile")
async def test_a_task_that_is_a_goal_goes_on_until_the_judge_is_content(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        # after this text without a tool call, the agent is asked to continue or to finish
        say("I will look at it."),
        say("Done, I think."),
        verdict(complete=False, missing="No test was run."),
        say("Now it is tested."),
        verdict(complete=True),
    )

    task = await home.ready(
        initial_message=message("Mend the harbour."), goal={"max_iterations": 3}, title="Goal"
    )

    goal = await goal_becomes(home, task["id"], "complete")
    assert goal == {
        "objective": "Mend the harbour.",
        "status": "complete",
        "iteration": 2,
        "max_iterations": 3,
    }
    asked = json.dumps([request.body["messages"] for request in scripted_llm.requests])
    assert "No test was run." in asked


@pytest.mark.usefixtures("profile")
async def test_a_goal_is_set_stopped_and_resumed(home: Home, scripted_llm: ScriptedLLM) -> None:
    judging = hold(verdict(complete=False))
    scripted_llm.script(say("Done."), judging, say("Done again."), verdict(complete=True))
    conversation_id = (await home.ready(title="Goal"))["id"]
    goal = f"{ROOT}/{conversation_id}/goal"

    begun = await home.client.post(goal, json={"objective": "Do it."})
    await goal_becomes(home, conversation_id, "running")
    busy = await home.client.post(goal, json={"objective": "Something else."})
    stopped = await home.client.post(f"{goal}/stop")
    await goal_becomes(home, conversation_id, "interrupted")
    judging.release()
    await rests(home, conversation_id)
    resumed = await home.client.post(f"{goal}/resume")
    await goal_becomes(home, conversation_id, "complete")
    await rests(home, conversation_id)
    over = await home.client.post(f"{goal}/resume")

    assert [reply.json() for reply in (begun, stopped, resumed)] == [{"success": True}] * 3
    assert (busy.status_code, busy.json()["code"]) == (409, "already_running")
    assert (over.status_code, over.json()["code"]) == (409, "no_resumable_goal")


@pytest.mark.usefixtures("profile")
async def test_a_goal_is_refused_before_the_conversation_is_ready_and_for_other_users(
    home: Home, repository: Path
) -> None:
    failed = await home.ended(
        (await home.start(selected_repository=str(repository), selected_branch="nowhere", title="Goal"))["id"]
    )
    path = f"{ROOT}/{failed['id']}/goal"

    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as stranger:
        foreign = await stranger.post(path, json={"objective": "Do it."})
    for route in (path, f"{path}/stop", f"{path}/resume"):
        early = await home.client.post(route, json={"objective": "Do it."})
        assert (early.status_code, early.json()["code"]) == (409, "conversation_not_ready")

    assert foreign.status_code == 404


@pytest.mark.parametrize(
    "request_",
    [
        {"goal": {}},
        {"goal": {}, "initial_message": message("  ")},
        {"goal": {"max_iterations": 0}, "initial_message": message("Do it.")},
        {
            "goal": {},
            "initial_message": {"content": [{"type": "image", "image_urls": ["data:image/png;base64,AA=="]}]},
        },
    ],
)
async def test_a_start_with_a_goal_needs_an_objective(home: Home, request_: dict[str, Any]) -> None:
    assert (await home.client.post(ROOT, json=request_)).status_code == 422
