"""Tests of the fields of the request that creates a conversation."""

import json
from pathlib import Path

import pytest

from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, call, say

START = "/api/conversations"
ENCRYPTED = {"X-Expose-Secrets": "encrypted"}


async def test_encrypted_keys_and_secrets_of_a_start_are_decrypted(tmp_path: Path, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command='test "$TOKEN" = hidden-value && echo equal'), say("Done."))
    async with agent_app(tmp_path, secret_key="k") as client:
        llm = {"model": "openai/x", "api_key": scripted_llm.api_key}
        diff = {"agent_settings_diff": {"llm": llm, "secrets": {"TOKEN": "hidden-value"}}}
        shown = await called(client, "PATCH", "/api/settings", json=diff, headers=ENCRYPTED)
        encrypted = shown["agent_settings"]
        assert "hidden-value" not in str(shown)
        body = start_request(scripted_llm, tmp_path, "Go.", secrets_encrypted=True)
        body["agent"]["llm"]["api_key"] = encrypted["llm"]["api_key"]
        body["secrets"] = {"TOKEN": {"kind": "StaticSecret", "value": encrypted["secrets"]["TOKEN"]}}
        created = await called(client, "POST", START, json=body)
        await wait_for_status(client, created["id"], "finished")

    authorizations = {request.headers["authorization"] for request in scripted_llm.requests}
    assert authorizations == {f"Bearer {scripted_llm.api_key}"}
    assert "equal" in str(scripted_llm.requests[1].body["messages"])


async def test_a_secret_of_a_start_that_cannot_be_decrypted_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path / "other", secret_key="other") as client:
        llm = {"model": "openai/x", "api_key": "canary"}
        await called(client, "POST", "/api/profiles/p", json={"llm": llm})
        foreign = (await called(client, "GET", "/api/profiles/p", headers=ENCRYPTED))["config"]["api_key"]
    body = start_request(scripted_llm, tmp_path, secrets_encrypted=True)
    plain = start_request(scripted_llm, tmp_path, secrets_encrypted=True)
    for given in (
        {"agent": {**body["agent"], "llm": {**llm, "api_key": foreign}}},
        {"secrets": {"T": foreign}},
    ):
        for settings in ({"secret_key": "k"}, {}):
            async with agent_app(tmp_path, **settings) as client:
                refused = await client.post(START, json={**body, **given})
                found = await called(client, "GET", f"{START}/count")
                assert (refused.status_code, refused.json()["code"], found) == (
                    422,
                    "secret_not_decrypted",
                    0,
                )
                assert foreign not in refused.text
    async with agent_app(tmp_path) as client:
        assert (await client.post(START, json=plain)).status_code == 201


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent_profile_id", "7d0f2b0e-6f3a-4a37-9d0a-5f3e7f8f9b11"),
        ("conversation_runtime", "docker"),
        ("container", {"memory": "1g"}),
        ("prompt", "Name it: {conversation_content}"),
        ("agent_launch_additions.llm_profile_ref", "fast"),
    ],
)
async def test_a_field_of_a_start_that_has_no_meaning_here_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM, name: str, value: object
):
    first, _, nested = name.partition(".")
    async with agent_app(tmp_path) as client:
        given = {first: {nested: value} if nested else value}
        refused = await client.post(START, json=start_request(scripted_llm, tmp_path, **given))
        found = await called(client, "GET", f"{START}/count")

    assert (refused.status_code, refused.json()["code"], found) == (422, "unsupported_field", 0)
    assert refused.json()["errors"][0]["loc"] == ["body", *name.split(".")]
    assert refused.json()["fix"]


async def test_a_start_with_the_defaults_of_these_fields_is_accepted(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    nothing = dict.fromkeys(("agent_profile_id", "container", "prompt", "agent_settings"))
    async with agent_app(tmp_path) as client:
        for given in (
            {**nothing, "conversation_runtime": None, "agent_launch_additions": None},
            {**nothing, "conversation_runtime": "local", "prompt": "", "agent_launch_additions": {}},
        ):
            await called(client, "POST", START, json=start_request(scripted_llm, tmp_path, **given))


async def test_launch_additions_become_a_part_of_the_agent(tmp_path: Path, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Done."))

    def skill(name: str, content: str) -> dict[str, object]:
        return {"name": name, "content": content, "trigger": None, "source": None}

    additions = {
        "system_message_suffix_append": " Added suffix. ",
        "skills": [
            skill("own", "Not this text."),
            skill("extra", "Text of the added skill."),
            skill("off", "Not this text, either."),
        ],
    }
    body = start_request(scripted_llm, tmp_path, "Go.", agent_launch_additions=additions)
    body["agent"]["agent_context"] = {
        "skills": [skill("own", "Text of the own skill.")],
        "disabled_skills": ["off"],
        "system_message_suffix": "Own suffix.",
    }
    async with agent_app(tmp_path) as client:
        created = await called(client, "POST", START, json=body)
        await wait_for_status(client, created["id"], "finished")

    prompt = json.dumps(scripted_llm.requests[0].body["messages"][0]["content"])
    assert "Own suffix.\\n\\nAdded suffix." in prompt
    assert "Text of the own skill." in prompt
    assert "Text of the added skill." in prompt
    assert "Not this text" not in prompt


@pytest.mark.parametrize("additions", [{"system_message_suffix_append": "x" * 32_769}, {"suffix": "x"}, []])
async def test_launch_additions_that_are_not_valid_are_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM, additions: object
):
    async with agent_app(tmp_path) as client:
        body = start_request(scripted_llm, tmp_path, agent_launch_additions=additions)
        refused = await client.post(START, json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
    assert refused.json()["errors"][0]["loc"][:2] == ["body", "agent_launch_additions"]


async def test_a_working_directory_that_no_file_system_can_have_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        body = start_request(scripted_llm, tmp_path / ("x" * 300))
        refused = await client.post(START, json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "workspace_unusable")


@pytest.mark.parametrize("name", ["timestamp__gte", "timestamp__lt"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_that_the_server_cannot_convert_is_refused(
    tmp_path: Path, scripted_llm: ScriptedLLM, name: str, moment: str
):
    async with agent_app(tmp_path) as client:
        created = await called(client, "POST", START, json=start_request(scripted_llm, tmp_path))
        for path in (f"{START}/{created['id']}/events/search", "/api/bash/bash_events/search"):
            refused = await client.get(path, params={name: moment})
            assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
            assert refused.json()["errors"][0]["loc"] == ["query", name]


@pytest.mark.parametrize(
    ("given", "location", "count"),
    [
        (
            {"client_tools": [{"name": "a", "description": "d"}, {"name": "b"}]},
            "client_tools.1.description",
            1,
        ),
        ({"client_tools": [{"name": "b c"}]}, "client_tools.0.name", 2),
        ({"mcp_approved": {"docs": {"x": 1}}}, "mcp_approved.docs.x", 1),
        ({"agent.mcp_config": {"docs": {"url": 1}}}, "agent.mcp_config.url", 1),
        ({"agent.agent_context": {"skills": [{"name": "x"}]}}, "agent.agent_context.skills.content", 1),
        ({"agent.llm": {"model": "", "temperature": "canary"}}, "agent.llm.model", 2),
    ],
)
async def test_a_start_that_is_not_valid_is_refused_with_all_fields_that_are_wrong(
    tmp_path: Path, scripted_llm: ScriptedLLM, given: dict[str, object], location: str, count: int
):
    body = start_request(scripted_llm, tmp_path)
    for name, value in given.items():
        parent, _, field = name.rpartition(".")
        (body[parent] if parent else body)[field] = value
    async with agent_app(tmp_path) as client:
        refused = await client.post(START, json=body)

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "validation_failed")
    assert problem["detail"].startswith(f"{location}: ")
    assert ".".join(map(str, problem["errors"][0]["loc"])) == f"body.{location}"
    assert len(problem["errors"]) == count
    assert all(set(one) == {"loc", "msg", "type"} for one in problem["errors"])
    assert "canary" not in refused.text


async def test_an_agent_of_another_kind_is_refused_before_its_fields_are_checked(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        body = {"agent": {"kind": "ACPAgent"}, "workspace": {"working_dir": str(tmp_path / "work")}}
        refused = await client.post(START, json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "unsupported_agent")
    assert "ACPAgent" in refused.json()["detail"]
    assert refused.json()["errors"][0]["loc"] == ["body", "agent", "kind"]


@pytest.mark.parametrize(
    ("tags", "is_valid"),
    [
        ({"team1": "x" * 256, "2": ""}, True),
        ({"Team": "x"}, False),
        ({"a-b": "x"}, False),
        ({"": "x"}, False),
        ({"a\n": "x"}, False),
        ({"a": "x" * 257}, False),
    ],
)
async def test_tags_have_keys_of_small_letters_and_digits_and_short_values(
    tmp_path: Path, scripted_llm: ScriptedLLM, tags: dict[str, str], is_valid: bool
):
    async with agent_app(tmp_path) as client:
        created = await called(client, "POST", START, json=start_request(scripted_llm, tmp_path))
        path = f"{START}/{created['id']}"
        replies = (
            await client.post(START, json=start_request(scripted_llm, tmp_path, tags=tags)),
            await client.patch(path, json={"tags": tags}),
            await client.post(f"{path}/fork", json={"tags": tags}),
        )
        shown = (await called(client, "GET", path))["tags"]

    if is_valid:
        assert [reply.status_code for reply in replies] == [201, 200, 201]
        assert [shown, replies[0].json()["tags"], replies[2].json()["tags"]] == [tags] * 3
        return
    assert [reply.status_code for reply in replies] == [422] * 3
    assert {reply.json()["code"] for reply in replies} == {"validation_failed"}
    assert [reply.json()["errors"][0]["loc"][:2] for reply in replies] == [["body", "tags"]] * 3
    assert shown == {}
