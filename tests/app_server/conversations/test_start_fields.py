"""Fields of a start request: each has an effect, or is refused with what to do instead."""

from pathlib import Path

import pytest

from tests.app_server.conversations.conftest import ROOT, Home, commit, eventually, git
from tests.support.git_host import GitHost
from tests.support.scripted_llm import ScriptedLLM, call, say


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"plugins": [{"source": "/etc"}]}, "should match pattern"),
        ({"plugins": [{"source": "https://me:token@git.acme.dev/p.git"}]}, "should match pattern"),
        ({"plugins": [{"source": "github:a/b", "parameters": {"x": 1}}]}, "at most 0 items"),
        ({"processors": [{"kind": "LoggingCallbackProcessor"}]}, "processors is not supported"),
        ({"secrets": {"TOKEN": "x"}}, "at least 4 items"),
        ({"secrets": {"PATH": "value"}}, "means something to every program"),
        ({"agent_type": "plan"}, "only the default agent can be started"),
        ({"public": True}, "share it with people who have an account: PUT …/sharing"),
        ({"pr_number": [0]}, "greater than or equal to 1"),
        ({"llm_modell": "openai/x"}, "Extra inputs are not permitted"),
    ],
)
async def test_a_field_without_an_effect_is_refused(home: Home, body: dict[str, object], reason: str) -> None:
    reply = await home.client.post(ROOT, json=body)

    assert (reply.status_code, reply.json()["code"]) == (422, "validation_failed")
    assert reason in str(reply.json()["errors"])


async def test_the_protocols_defaults_are_accepted_and_the_model_chooses_the_profile(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    (await home.client.post("/api/v1/settings/profiles/demo/activate")).raise_for_status()
    scripted_llm.script(say("Aye."))
    message = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    defaults = {"plugins": None, "secrets": None, "pr_number": [], "agent_type": "default", "public": None}

    started = await home.ready(
        **defaults,
        initial_message=message,
        title="Greeting",
        llm_model="openai/scripted",
        system_message_suffix="Speak like a sailor.",
    )

    async def is_done() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "finished")

    await eventually(is_done)
    assert (await home.conversation(started["id"]))["llm_profile"] == "mine"
    assert "Speak like a sailor." in str(scripted_llm.requests[0].body["messages"][0])


async def test_commits_are_made_in_the_users_name(home: Home, scripted_llm: ScriptedLLM) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    mine = {"git_user_name": "Ada O'Neil", "git_user_email": "ada@acme.dev"}
    diffs = {"agent_settings_diff": {"llm": llm}, "conversation_settings_diff": {"max_iterations": 1}}
    (await home.client.post("/api/v1/settings", json={**mine, **diffs})).raise_for_status()
    scripted_llm.script(call("terminal", command="true"), call("terminal", command="true"))
    message = {"role": "user", "content": [{"type": "text", "text": "Go on"}]}

    started = await home.ready(initial_message=message, title="Steps")

    async def has_stopped() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "error")

    who = await home.shell(started["id"], "git config user.name; git config user.email")
    assert who.splitlines() == ["Ada O'Neil", "ada@acme.dev"]
    await eventually(has_stopped)
    assert len(scripted_llm.requests) == 1


async def test_a_named_plugin_joins_or_the_start_says_why_not(
    home: Home, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    scripted_llm.script(say("Aye."))
    message = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    with GitHost(tmp_path / "host") as host:
        host.make("team/sailing")
        skill = "---\nname: sailing\ndescription: Speaks like a sailor.\n---\nSay ahoy."
        top = tmp_path / "work"
        for name, text in ((".plugin/plugin.json", '{"name": "sea"}'), ("skills/sailing/SKILL.md", skill)):
            file = top / "plugins" / "sailing" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(top, "init", "-q", "-b", "main")
        commit(top, "A plugin")
        git(top, "push", "-q", "--force", str(host.bare("team/sailing")), "main")
        plugin = {"source": host.url("team/sailing"), "repo_path": "plugins/sailing"}
        started = await home.ready(
            llm_profile="mine", initial_message=message, title="Sail", plugins=[plugin]
        )
        missing = await home.start(plugins=[{**plugin, "repo_path": "plugins/none"}])
        failed = await home.ended(missing["id"])

    async def is_done() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "finished")

    await eventually(is_done)
    assert "sailing" in str(scripted_llm.requests[0].body["messages"][0])
    assert failed["status"] == "ERROR"
    assert "plugins/none" in str(failed["error"])


async def test_a_model_that_no_profile_has_is_named(home: Home) -> None:
    unknown = await home.client.post(ROOT, json={"llm_model": "openai/none"})
    differs = await home.client.post(ROOT, json={"llm_model": "openai/none", "llm_profile": "demo"})

    assert (unknown.status_code, unknown.json()["code"]) == (404, "llm_model_not_found")
    assert (differs.status_code, differs.json()["code"]) == (400, "llm_model_differs")


async def test_only_the_title_can_be_changed_afterwards(home: Home) -> None:
    route = f"{ROOT}/{(await home.start())['id']}"

    repository = await home.client.patch(route, json={"title": "New", "selected_repository": "a/b"})
    nothing = await home.client.patch(route, json={"public": None})
    title = await home.client.patch(route, json={"title": "New"})

    assert repository.status_code == 422
    assert "fixed when a conversation starts" in str(repository.json()["errors"])
    assert nothing.json()["title"] is None
    assert title.json()["title"] == "New"
