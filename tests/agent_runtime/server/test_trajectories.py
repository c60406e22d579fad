"""Conversations can be exported as files and imported again."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_runtime.conversation.trajectory.import_file import MAX_EVENT_BYTES
from tests.agent_runtime.conversation.conftest import agent_spec
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, call, calls, say

DOWNLOAD = "/api/file/download-trajectory"
IMPORT = "/api/conversations/import"


async def worked(client: httpx.AsyncClient, llm: ScriptedLLM, path: Path) -> str:
    """Runs a conversation until it is finished and returns its id."""
    llm.script(
        calls(("terminal", {"command": "echo one"}), ("terminal", {"command": "echo two"}), thought="Look."),
        call("finish", message="All done."),
    )
    body = start_request(llm, path, "Do it, bitte schön.", tags={"a": "b"}, title="Named")
    conversation_id = str((await called(client, "POST", "/api/conversations", json=body))["id"])
    await wait_for_status(client, conversation_id, "finished")
    return conversation_id


async def events(client: httpx.AsyncClient, conversation_id: str) -> list[dict[str, Any]]:
    page = await called(client, "GET", f"/api/conversations/{conversation_id}/events/search")
    return list(page["items"])


async def test_a_zip_has_a_file_per_event_and_comes_back_as_the_same_conversation(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        conversation_id = await worked(client, scripted_llm, tmp_path)
        reply = await client.get(f"{DOWNLOAD}/{conversation_id}")
        assert reply.headers["content-type"] == "application/zip"
        archive = zipfile.ZipFile(io.BytesIO(reply.content))
        before = await events(client, conversation_id)
        names = [name for name in archive.namelist() if name.startswith("events/")]
        assert [json.loads(archive.read(name)) for name in names] == before
        assert names[0] == f"events/event-00000-{before[0]['id']}.json"
        meta = json.loads(archive.read("meta.json"))
        assert (meta["title"], meta["tags"], meta["agent"]["llm"]["api_key"]) == (
            "Named",
            {"a": "b"},
            "**********",
        )
        assert json.loads(archive.read("base_state.json"))["execution_status"] == "finished"
        assert scripted_llm.api_key.encode() not in b"".join(
            archive.read(name) for name in archive.namelist()
        )

        info = await called(
            client,
            "POST",
            IMPORT,
            files={"file": reply.content},
            data={"agent": json.dumps(agent_spec(scripted_llm)), "working_dir": str(tmp_path / "there")},
        )

        assert (info["title"], info["tags"], info["execution_status"]) == ("Named", {"a": "b"}, "finished")
        assert info["id"] != conversation_id
        assert await events(client, info["id"]) == before
        assert (await called(client, "GET", f"/api/conversations/{info['id']}/agent_final_response")) == {
            "response": "All done."
        }
        # The imported conversation can continue.
        scripted_llm.script(say("Once more."))
        await called(
            client, "POST", f"/api/conversations/{info['id']}/events", json=message("Again.", run=True)
        )
        await scripted_llm.wait_for_requests(3)
        prompt = scripted_llm.requests[2].body["messages"]
        roles = [one["role"] for one in prompt]
        assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool", "user"]


async def test_atif_has_a_step_per_reply_with_its_results_and_comes_back(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        conversation_id = await worked(client, scripted_llm, tmp_path)
        reply = await client.get(f"{DOWNLOAD}/{conversation_id}", params={"format": "atif"})
        document = reply.json()
        info = await called(
            client,
            "POST",
            IMPORT,
            files={"file": reply.content},
            data={"agent": json.dumps(agent_spec(scripted_llm)), "title": "Back"},
        )
        scripted_llm.script(say("Once more."))
        await called(
            client, "POST", f"/api/conversations/{info['id']}/events", json=message("Again.", run=True)
        )
        await scripted_llm.wait_for_requests(3)

    assert document["schema_version"] == "ATIF-v1.7"
    assert document["session_id"] == conversation_id
    assert document["agent"]["model_name"] == "openai/scripted"
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent"]
    assert (steps[1]["message"], steps[2]["message"]) == ("Do it, bitte schön.", "Look.")
    asked = [(one["function_name"], one["arguments"]["command"]) for one in steps[2]["tool_calls"]]
    assert asked == [("terminal", "echo one"), ("terminal", "echo two")]
    results = steps[2]["observation"]["results"]
    assert [one["source_call_id"] for one in results] == [
        one["tool_call_id"] for one in steps[2]["tool_calls"]
    ]
    assert ["one" in results[0]["content"], "two" in results[1]["content"]] == [True, True]
    assert steps[2]["metrics"]["prompt_tokens"] == 100
    assert document["final_metrics"]["total_prompt_tokens"] == 200
    assert document["final_metrics"]["total_steps"] == 4
    assert info["title"] == "Back"
    roles = [one["role"] for one in scripted_llm.requests[2].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool", "user"]


async def test_a_call_without_result_and_a_run_without_end_do_not_come_back_to_life(tmp_path: Path):
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}}
    document = {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "other", "version": "1", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "Go."}]},
            {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call]},
        ],
    }
    async with agent_app(tmp_path) as client:
        info = await called(client, "POST", IMPORT, files={"file": json.dumps(document).encode()})
        kinds = [event["kind"] for event in await events(client, info["id"])]

    assert kinds[:3] == ["MessageEvent", "ActionEvent", "AgentErrorEvent"]
    assert info["execution_status"] == "idle"


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return buffer.getvalue()


META = json.dumps({"agent": {"llm": {"model": "openai/x"}}}).encode()
EVENT = json.dumps(
    {"kind": "PauseEvent", "id": "e", "source": "user", "timestamp": "2026-01-01T00:00:00.0"}
).encode()


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"neither",
        b"{}",
        b'{"schema_version":"ATIF-v9.0","agent":{"name":"x"},"steps":[]}',
        b"PK\x03\x04 no zip",
        zipped({"other.txt": b""}),
        zipped({"meta.json": b"[]"}),
        zipped({"meta.json": b"{}"}),
        zipped({"meta.json": META, "events/event-00000-x.json": b"{}"}),
        zipped({"meta.json": META, "events/event-00000-x.json": EVENT, "events/event-00001-x.json": EVENT}),
    ],
)
async def test_an_invalid_trajectory_is_refused_and_leaves_nothing(tmp_path: Path, file: bytes):
    async with agent_app(tmp_path) as client:
        reply = await client.post(IMPORT, files={"file": ("name", file)})

        assert (reply.status_code, reply.json()["code"]) == (422, "not_a_trajectory")
        assert await called(client, "GET", "/api/conversations/count") == 0
    assert not list((tmp_path / "conversations").glob("*"))
    assert not list((tmp_path / "conversations").glob(".*"))


async def test_a_task_list_that_is_too_large_is_refused_and_not_cut(tmp_path: Path):
    tasks = b"[" + b" " * MAX_EVENT_BYTES + b"]"
    file = zipped({"meta.json": META, "events/event-00000-x.json": EVENT, "TASKS.json": tasks})
    async with agent_app(tmp_path) as client:
        reply = await client.post(IMPORT, files={"file": ("name", file)})

        assert (reply.status_code, reply.json()["code"]) == (422, "not_a_trajectory")
        assert "TASKS.json is too large" in reply.json()["detail"]
        assert await called(client, "GET", "/api/conversations/count") == 0


async def test_a_name_in_the_archive_leads_nowhere_and_an_id_is_taken_once(tmp_path: Path):
    file = zipped({"meta.json": META, "../../evil": b"x", "events/event-00000-x.json": EVENT})
    wanted = {"conversation_id": "0" * 32}
    async with agent_app(tmp_path) as client:
        first = await client.post(IMPORT, files={"file": file}, data=wanted)
        again = await client.post(IMPORT, files={"file": file}, data=wanted)
        missing = await client.get(f"{DOWNLOAD}/{'1' * 32}")

    assert first.status_code == 201
    assert (again.status_code, again.json()["code"]) == (409, "conversation_exists")
    assert missing.status_code == 404
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path.parent / "evil").exists()
