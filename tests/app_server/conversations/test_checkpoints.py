"""Tests of checkpoints through the public API."""

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, call, say


async def worked(home: Home, llm: ScriptedLLM) -> str:
    """Starts a conversation whose agent creates one file, and waits for the end. Returns the path of the
    route of its checkpoints.
    """
    profile = {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": profile})).raise_for_status()
    llm.script(call("terminal", command="echo agent > made"), say("Made."))
    message = {"role": "user", "content": [{"type": "text", "text": "Make it."}]}
    conversation_id = (await home.ready(initial_message=message, title="Make"))["id"]

    async def is_done() -> bool:
        return bool((await home.conversation(conversation_id))["execution_status"] == "finished")

    await eventually(is_done)
    return f"{ROOT}/{conversation_id}/checkpoints"


async def command(home: Home, route: str, text: str) -> str:
    reply = await home.client.post(
        f"{route.removesuffix('/checkpoints')}/execute-bash-command", json={"command": text}
    )
    return str(reply.raise_for_status().json()["stdout"])


async def test_one_goes_back_and_forth(home: Home, scripted_llm: ScriptedLLM) -> None:
    route = await worked(home, scripted_llm)
    listed = (await home.client.get(route)).json()["checkpoints"]
    first = f"{route}/{listed[0]['id']}"

    diff = (await home.client.get(f"{first}/diff")).json()
    went_back = (await home.client.post(f"{first}/rewind", json={})).raise_for_status().json()
    after = await command(home, route, "ls")
    undone = await home.client.post(f"{route}/{went_back['undo']}/rewind", json={"chat": False})

    assert [one["kind"] for one in listed] == ["turn", "end"]
    assert diff["files"] == [{"status": "ADDED", "path": "made"}]
    assert "made" not in after
    assert undone.status_code == 200
    assert await command(home, route, "cat made") == "agent\n"


async def test_edits_are_refused_with_a_diff(home: Home, scripted_llm: ScriptedLLM) -> None:
    route = await worked(home, scripted_llm)
    await command(home, route, "echo mine > made")
    first = (await home.client.get(route)).json()["checkpoints"][0]["id"]

    refused = await home.client.post(f"{route}/{first}/rewind", json={})
    kept = await home.client.post(f"{route}/{first}/rewind", json={"on_edits": "keep"})

    problem = refused.json()
    assert (problem["status"], problem["code"]) == (409, "edited_since")
    assert problem["diff"]["edited"] == ["made"]
    assert "+mine" in problem["diff"]["patch"]
    assert kept.json()["kept"] == ["made"]


async def test_they_belong_to_the_owner(home: Home, scripted_llm: ScriptedLLM) -> None:
    route = await worked(home, scripted_llm)
    unknown = await home.client.post(f"{route}/99/rewind", json={})
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as stranger:
        replies = [
            await stranger.get(route),
            await stranger.get(f"{route}/1/diff"),
            await stranger.post(f"{route}/1/rewind", json={}),
        ]

    assert [reply.status_code for reply in replies] == [404] * 3
    assert (unknown.status_code, unknown.json()["code"]) == (404, "checkpoint_not_found")


async def test_a_rewind_with_an_unknown_field_changes_nothing(home: Home, scripted_llm: ScriptedLLM) -> None:
    route = await worked(home, scripted_llm)
    first = (await home.client.get(route)).json()["checkpoints"][0]["id"]

    refused = await home.client.post(f"{route}/{first}/rewind", json={"dry_run": True, "chat": False})

    assert_problem(refused, 422, "validation_failed")
    assert await command(home, route, "cat made") == "agent\n"
