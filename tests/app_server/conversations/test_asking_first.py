"""Tests of an agent that asks its user before an action, through the public routes, with a real agent server
and a scripted model.
"""

from typing import Any
from uuid import UUID

import pytest

from app_server.settings.confirmation import default_mode
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.support.scripted_llm import ScriptedLLM, call, calls, say

SETTINGS = "/api/v1/settings/confirmation"


async def asked(home: Home, llm: ScriptedLLM, *commands: str, **request: Any) -> tuple[str, list[str]]:
    """Starts a conversation whose agent asks to run the commands. Returns its id and the ids of the actions
    that wait for the user's answer.
    """
    settings = {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key}
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    llm.script(calls(*(("terminal", {"command": command}) for command in commands)))
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    task = await home.ready(llm_profile="mine", initial_message=message, title="Asking", **request)
    await becomes(home, task["id"], "waiting_for_confirmation")
    actions = await events(home, task["id"], "ActionEvent")
    return task["id"], [action["id"] for action in actions]


async def becomes(home: Home, conversation_id: str, status: str) -> None:
    async def check() -> bool:
        return bool((await home.conversation(conversation_id))["execution_status"] == status)

    await eventually(check)


async def events(home: Home, conversation_id: str, kind: str) -> list[dict[str, Any]]:
    params = {"kind__eq": kind}
    reply = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search", params=params)
    items: list[dict[str, Any]] = [item for item in reply.json()["items"] if item["kind"] == kind]
    return items


async def mode_of(home: Home, conversation_id: str) -> Any:
    reply = await home.client.get(f"{ROOT}/{conversation_id}/confirmation-mode")
    assert reply.status_code == 200, reply.text
    return reply.json()["mode"]


async def respond(home: Home, conversation_id: str, **body: Any) -> Any:
    return await home.client.post(f"{ROOT}/{conversation_id}/respond-to-confirmation", json=body)


async def test_a_risky_step_waits_is_approved_and_runs(home: Home, scripted_llm: ScriptedLLM):
    conversation, waiting = await asked(home, scripted_llm, "sudo --version; echo ran")
    analysis = (await events(home, conversation, "SecurityAnalysisEvent"))[0]
    assert analysis["details"][waiting[0]]["reasons"] == ["runs with the rights of another user"]

    scripted_llm.script(say("Done."))
    stale = await respond(home, conversation, accept=True, action_ids=["another"])
    assert (stale.status_code, stale.json()["code"]) == (409, "confirmation_outdated")
    assert (await respond(home, conversation, accept=True, action_ids=waiting)).json() == {"success": True}
    await becomes(home, conversation, "finished")

    (observed,) = await events(home, conversation, "ObservationEvent")
    assert "ran" in observed["observation"]["content"][0]["text"]
    late = await respond(home, conversation, accept=True, action_ids=waiting)
    assert (late.status_code, late.json()["code"]) == (409, "nothing_to_confirm")
    log = await home.client.get("/api/v1/audit-log", params={"target_kind": "conversation"})
    [told] = [one for one in log.json()["items"] if one["action"] == "agent_action.approved"]
    assert (told["target_id"], told["details"]["action_ids"]) == (conversation, waiting)


async def test_a_refused_agent_goes_on_with_the_reason(home: Home, scripted_llm: ScriptedLLM):
    conversation, waiting = await asked(home, scripted_llm, "echo ran", confirmation_mode="always")
    scripted_llm.script(say("I see."))

    await respond(home, conversation, accept=False, reason="Not today.", action_ids=waiting)
    await becomes(home, conversation, "finished")

    (rejected,) = await events(home, conversation, "UserRejectObservation")
    assert rejected["rejection_reason"] == "Not today."
    assert "Not today." in str(scripted_llm.requests[-1].messages)


async def test_each_step_gets_its_own_answer(home: Home, scripted_llm: ScriptedLLM):
    conversation, waiting = await asked(
        home, scripted_llm, "echo first", "echo second", confirmation_mode="always"
    )
    answer = {"action_ids": waiting, "reason": "Not that one."}
    for wrong in (
        {"accept": True, "approved_action_ids": waiting[:1]},
        {"accept": False, "approved_action_ids": ["another"]},
        {"accept": False, "approved_action_ids": []},
    ):
        reply = await respond(home, conversation, **answer, **wrong)
        assert (reply.status_code, reply.json()["code"]) == (422, "validation_failed")
    scripted_llm.script(say("Done."))
    await respond(home, conversation, **answer, accept=False, approved_action_ids=waiting[:1])
    await becomes(home, conversation, "finished")

    (observed,) = await events(home, conversation, "ObservationEvent")
    (rejected,) = await events(home, conversation, "UserRejectObservation")
    assert [observed["action_id"], rejected["action_id"]] == waiting
    assert rejected["rejection_reason"] == "Not that one."


async def test_the_mode_can_be_changed_on_the_way(home: Home, scripted_llm: ScriptedLLM):
    conversation, waiting = await asked(home, scripted_llm, "echo one", confirmation_mode="always")
    assert await mode_of(home, conversation) == "always"
    reply = await home.client.post(f"{ROOT}/{conversation}/confirmation-mode", json={"mode": "never"})
    assert reply.json() == {"success": True}
    assert await mode_of(home, conversation) == "never"

    scripted_llm.script(call("terminal", command="echo two"), say("Done."))
    await respond(home, conversation, accept=True, action_ids=waiting)
    await becomes(home, conversation, "finished")


async def test_what_a_user_has_set_holds_for_tasks_that_do_not_say(home: Home, scripted_llm: ScriptedLLM):
    assert (await home.client.get(SETTINGS)).json() == {"mode": None, "default_mode": "risky"}
    reply = await home.client.put(SETTINGS, json={"mode": "always"})
    assert reply.json() == {"mode": "always", "default_mode": "risky"}

    await asked(home, scripted_llm, "echo harmless")


async def test_an_invalid_mode_is_refused(home: Home):
    assert (await home.client.put(SETTINGS, json={"mode": "sometimes"})).status_code == 422


async def test_an_unknown_policy_has_no_mode(home: Home, scripted_llm: ScriptedLLM):
    conversation, _ = await asked(home, scripted_llm, "echo one", confirmation_mode="always")
    agent = home.state["sandboxes"].client(UUID(conversation))
    low = {"kind": "ConfirmRisky", "threshold": "LOW", "confirm_unknown": True}
    await agent.set_safeguards(UUID(conversation), policy=low, analyzer=None)

    assert await mode_of(home, conversation) is None


@pytest.mark.parametrize(("is_isolated", "mode"), [(True, "never"), (False, "risky")])
def test_only_a_sandbox_that_isolates_lets_the_agent_run_freely(is_isolated: bool, mode: str):
    assert default_mode(is_isolated=is_isolated) == mode
