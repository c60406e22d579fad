"""Tests of exporting a conversation as a file, and of reading its workspace."""

import io
import json
import zipfile
from datetime import datetime, timedelta
from uuid import UUID

import httpx

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.support.scripted_llm import ScriptedLLM, call, say

FENCES = "See:\n```python\nprint(1)\n```"


async def worked(home: Home, llm: ScriptedLLM) -> str:
    """Starts a conversation whose agent runs a command that writes a file, and waits for the end. Returns
    the conversation's id.
    """
    profile = {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": profile})).raise_for_status()
    llm.script(call("terminal", command="printf '# Plan\\n' > PLAN.md; echo '````'"), say(FENCES))
    message = {"role": "user", "content": [{"type": "text", "text": "Plan it."}]}
    conversation_id = str((await home.ready(initial_message=message, title="The plan"))["id"])

    async def is_done() -> bool:
        return bool((await home.conversation(conversation_id))["execution_status"] == "finished")

    await eventually(is_done)
    return conversation_id


async def test_the_zip_holds_every_event_also_while_the_sandbox_sleeps(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    conversation_id = await worked(home, scripted_llm)
    sandbox_id = (await home.conversation(conversation_id))["sandbox_id"]
    (await home.client.post(f"/api/v1/sandboxes/{sandbox_id}/pause")).raise_for_status()

    reply = await home.client.get(f"{ROOT}/{conversation_id}/download")

    archive = zipfile.ZipFile(io.BytesIO(reply.content))
    events = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search")
    files = [name for name in archive.namelist() if name != "meta.json"]
    assert reply.headers["content-type"] == "application/zip"
    assert json.loads(archive.read("meta.json"))["title"] == "The plan"
    assert [json.loads(archive.read(name)) for name in files] == events.json()["items"]
    first = events.json()["items"][0]["id"]
    assert files[0] == f"event_000000_{first}.json"
    told = await home.client.get("/api/v1/audit-log", params={"action": "conversation.exported"})
    [entry] = told.json()["items"]
    assert (entry["target_id"], entry["details"]) == (conversation_id, {"format": "zip"})


async def test_the_text_tells_what_was_said_and_done_and_not_what_was_undone(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    conversation_id = await worked(home, scripted_llm)
    route = f"{ROOT}/{conversation_id}"
    text = (await home.client.get(f"{route}/download", params={"format": "markdown"})).text
    atif = await home.client.get(f"{route}/download", params={"format": "atif"})
    first = (await home.client.get(f"{route}/checkpoints")).json()["checkpoints"][0]["id"]
    (await home.client.post(f"{route}/checkpoints/{first}/rewind", json={})).raise_for_status()

    async def undone() -> httpx.Response | None:
        # The app server gets the event about the rewind shortly after the agent server's reply.
        reply = await home.client.get(f"{route}/download", params={"format": "markdown"})
        return None if FENCES in reply.text else reply

    after = await eventually(undone)
    shorter = (await home.client.get(f"{route}/download", params={"format": "atif"})).json()

    assert text.startswith("# The plan\n\n- Model: openai/scripted\n- Started: ")
    assert "## User\n" in text
    assert "Plan it." in text
    assert "**terminal**\n\n`````sh\nprintf '# Plan" in text, "the fence is longer than the one inside"
    assert "<summary>Result</summary>\n\n`````text\n````" in text
    assert FENCES in text
    assert after.headers["content-type"] == "text/markdown; charset=utf-8"
    whole = atif.json()
    assert atif.headers["content-disposition"].endswith(f'{UUID(conversation_id).hex}.atif.json"')
    assert (whole["schema_version"], whole["session_id"]) == ("ATIF-v1.7", str(UUID(conversation_id)))
    assert whole["agent"]["model_name"] == "openai/scripted"
    steps = whole["steps"]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent"]
    assert (steps[1]["message"], steps[3]["message"]) == ("Plan it.", FENCES)
    assert "printf '# Plan" in steps[2]["tool_calls"][0]["arguments"]["command"]
    assert "````" in steps[2]["observation"]["results"][0]["content"]
    assert steps[2]["metrics"]["prompt_tokens"] == 100
    assert datetime.fromisoformat(steps[1]["timestamp"]).utcoffset() == timedelta(0)
    assert [step["source"] for step in shorter["steps"]] == ["system"], "the message was undone, too"
    assert shorter["final_metrics"]["total_prompt_tokens"] == whole["final_metrics"]["total_prompt_tokens"]


async def test_files_and_hooks_of_the_workspace_are_read(home: Home, scripted_llm: ScriptedLLM) -> None:
    conversation_id = await worked(home, scripted_llm)
    route = f"{ROOT}/{conversation_id}"
    hooks = {"pre_tool_use": [{"matcher": "terminal", "hooks": [{"command": "true", "timeout": 5}]}]}
    await home.shell(conversation_id, f"mkdir .openhands; echo '{json.dumps(hooks)}' > .openhands/hooks.json")

    plan = await home.client.get(f"{route}/file")
    absent = await home.client.get(f"{route}/file", params={"file_path": "none.md"})
    outside = await home.client.get(f"{route}/file", params={"file_path": "/etc/passwd"})
    await home.shell(conversation_id, "truncate -s 6M large.bin")
    large = await home.client.get(f"{route}/file", params={"file_path": "large.bin"})
    found = await home.client.get(f"{route}/hooks")

    assert (plan.json(), absent.json()) == ("# Plan\n", "")
    assert (outside.status_code, outside.json()["code"]) == (403, "path_not_allowed")
    assert (large.status_code, large.json()["code"]) == (413, "file_too_large")
    [event] = found.json()["hooks"]
    assert (event["event_type"], event["matchers"][0]["matcher"]) == ("pre_tool_use", "terminal")
    assert event["matchers"][0]["hooks"][0]["command"] == "true"


async def test_they_belong_to_the_owner(home: Home, scripted_llm: ScriptedLLM) -> None:
    route = f"{ROOT}/{await worked(home, scripted_llm)}"
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as stranger:
        replies = [
            await stranger.get(f"{route}/{name}")
            for name in ("download", "file", "directory", "file/download?path=PLAN.md", "hooks")
        ]
    asleep = await home.client.get(f"{route}/download", params={"format": "pdf"})

    assert {reply.status_code for reply in replies} == {404}
    assert asleep.status_code == 422
