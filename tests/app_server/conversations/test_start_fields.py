"""Tests of the fields of a start request: each field has an effect, or the request is refused with advice."""

from pathlib import Path
from uuid import UUID

import pytest

from app_server.conversations.egress_notices import identity_of
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.repositories.git_access import named_by
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, commit, eventually, git
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.scripted_llm import ScriptedLLM, call, say


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"plugins": [{"source": "/etc"}]}, "should match pattern"),
        ({"plugins": [{"source": "https://me:token@git.acme.dev/p.git"}]}, "should match pattern"),
        ({"plugins": [{"source": "github:a/b", "parameters": {"a b": 1}}]}, "should match pattern"),
        ({"processors": [{"kind": "MailCallbackProcessor"}]}, "LoggingCallbackProcessor"),
        ({"secrets": {"TOKEN": "x"}}, "at least 4 characters"),
        ({"secrets": {"PATH": "value"}}, "many programs use this name"),
        ({"agent_type": "other"}, "'default' or 'plan'"),
        ({"agent_profile_id": "5e2f6a1c-0d43-4d0e-9f0f-2f2b8f3f3c11"}, "choose a model with llm_profile"),
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


COMMITS = """
git commit -q --allow-empty -m First && git commit -q --amend --no-edit --allow-empty
mkdir -p .agents && echo Assisted-by > .agents/commit-trailer
git add .agents && git commit -q -m 'As the repository wants'
git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'Of another' && git branch other
git reset -q --hard HEAD~1 && git cherry-pick --allow-empty other >/dev/null
git log -3 --format=%B---
"""


async def test_commits_are_made_in_the_users_name(home: Home, scripted_llm: ScriptedLLM) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    mine = {
        "git_user_name": "Ada O'Neil",
        "git_user_email": "ada@acme.dev",
        "commit_trailer": "co_authored_by",
    }
    diffs = {"agent_settings_diff": {"llm": llm}, "conversation_settings_diff": {"max_iterations": 1}}
    (await home.client.post("/api/v1/settings", json={**mine, **diffs})).raise_for_status()
    scripted_llm.script(call("terminal", command="true"), call("terminal", command="true"))
    message = {"role": "user", "content": [{"type": "text", "text": "Go on"}]}

    started = await home.ready(initial_message=message, title="Steps")

    async def has_stopped() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "error")

    who = await home.shell(started["id"], "git config user.name; git config user.email")
    assert who.splitlines() == ["Ada O'Neil", "ada@acme.dev"]
    made = await home.shell(started["id"], COMMITS)
    assert [one.strip() for one in made.split("---")] == [
        "Of another",
        "As the repository wants\n\nAssisted-by: Slipway",
        "First\n\nCo-authored-by: Slipway <slipway@localhost>",
        "",
    ], "an amended commit gets no second line, a picked one none"
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
            llm_profile="mine",
            initial_message=message,
            title="Sail",
            plugins=[{**plugin, "parameters": {"port": "Kiel", "knots": [5, 7.5]}}],
        )
        missing = await home.start(plugins=[{**plugin, "repo_path": "plugins/none"}])
        failed = await home.ended(missing["id"])

    async def is_done() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "finished")

    await eventually(is_done)
    assert "sailing" in str(scripted_llm.requests[0].body["messages"][0])
    told = str(scripted_llm.requests[0].body["messages"])
    assert f"Parameters of the plugin {plugin['source']}/plugins/sailing:" in told
    assert "- port: Kiel" in told
    assert "- knots: [5,7.5]" in told
    assert started["request"]["plugins"][0]["parameters"] == {"port": "Kiel", "knots": [5, 7.5]}
    assert failed["status"] == "ERROR"
    assert "plugins/none" in str(failed["error"])


async def test_a_model_that_no_profile_has_is_named(home: Home) -> None:
    unknown = await home.client.post(ROOT, json={"llm_model": "openai/none"})
    differs = await home.client.post(ROOT, json={"llm_model": "openai/none", "llm_profile": "demo"})

    assert (unknown.status_code, unknown.json()["code"]) == (404, "llm_model_not_found")
    assert (differs.status_code, differs.json()["code"]) == (400, "llm_model_differs")


async def test_no_agent_speaks_acp(home: Home) -> None:
    conversation = (await home.start())["id"]

    mine = await home.client.post(f"{ROOT}/{conversation}/switch_acp_model", json={"model": "x"})
    none = await home.client.post(f"{ROOT}/{UUID(int=1)}/switch_acp_model", json={"model": "x"})

    assert_problem(mine, 400, "not_an_acp_agent")
    assert_problem(none, 404, "not_found")


async def test_what_is_fixed_at_the_start_is_not_changed_afterwards(home: Home) -> None:
    route = f"{ROOT}/{(await home.start())['id']}"

    profile = await home.client.patch(route, json={"agent_type": "plan"})
    plugins = await home.client.patch(route, json={"title": "New", "plugins": [{"source": "github:a/b"}]})
    nothing = await home.client.patch(route, json={"public": None})
    title = await home.client.patch(route, json={"title": "New"})

    assert profile.status_code == plugins.status_code == 422
    assert "fixed when a conversation starts" in str(plugins.json()["errors"])
    assert nothing.json()["title"] is None
    assert title.json()["title"] == "New"


async def test_a_planning_agent_writes_the_plan_and_nothing_else(
    home: Home, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    scripted_llm.script(say("Here is the plan."))
    message = {"role": "user", "content": [{"type": "text", "text": "Plan the mast."}]}

    started = await home.ready(
        agent_type="plan",
        llm_profile="mine",
        initial_message=message,
        title="Mast",
        selected_repository=str(repository),
        processors=[{"kind": "SetTitleCallbackProcessor"}],
    )

    async def is_done() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "finished")

    await eventually(is_done)
    request = scripted_llm.requests[0].body
    tools = {tool["function"]["name"]: str(tool) for tool in request["tools"]}
    directory = await home.shell(started["id"], "pwd")
    assert f"{directory.strip()}/PLAN.md" in tools["planning_file_editor"]
    assert not {"terminal", "file_editor", "apply_patch", "task"} & tools.keys()
    assert "You plan; others do the work by your plan." in str(request["messages"][0])
    assert started["request"]["agent_type"] == "plan"


async def test_a_public_conversation_is_seen_by_everyone_until_it_is_no_more(home: Home) -> None:
    started = await home.start(public=True)
    route = f"{ROOT}/{started['id']}"
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:

        async def seen() -> bool | None:
            [found] = (await other.get(ROOT, params={"ids": [started["id"]]})).json()
            return found and found["public"]

        assert await seen() is True
        ended = await home.client.patch(route, json={"public": False})
        assert (ended.json()["public"], await seen()) == (False, None)
        again = await home.client.patch(route, json={"public": True})
        assert (again.json()["public"], await seen()) == (True, True)
        assert_problem(await other.patch(route, json={"public": False}), 403, "conversation_access_missing")
    audited = (await home.client.get("/api/v1/audit-log", params={"action": "conversation.shared"})).json()
    assert len(audited["items"]) == 2, audited


async def test_a_message_for_a_ready_conversation_does_not_wait(home: Home) -> None:
    task = await home.ready()
    place = f"/api/v1/conversations/task-{task['id']}/pending-messages"
    message = {"role": "user", "content": [{"type": "text", "text": "And then?"}], "run": False}

    sent = await home.client.post(place, json={**message, "id": "mine"})

    assert (sent.status_code, sent.json()) == (201, {"id": "mine", "queued": False, "position": 0})
    empty = {"role": "user", "content": [{"type": "text", "text": " \n"}]}
    send = f"{ROOT}/{task['id']}/send-message"
    for path, body in ((place, empty), (send, empty), (ROOT, {"initial_message": empty})):
        assert_problem(await home.client.post(path, json=body), 400, "message_empty")
    assert (await home.client.get(place)).json() == []

    async def arrived() -> bool:
        events = f"/api/v1/conversation/{task['id']}/events/search"
        return "And then?" in (await home.client.get(events)).text

    await eventually(arrived)


async def test_a_user_names_another_repository_and_git_reaches_both(home: Home, repository: Path) -> None:
    started = await home.start(selected_repository=str(repository))
    route = f"{ROOT}/{started['id']}"
    named = {"selected_repository": "acme/boats", "selected_branch": "sea", "git_provider": "gitlab"}

    assert_problem(
        await home.client.patch(route, json={"selected_repository": "https://me:token@git.acme.dev/p.git"}),
        422,
        "repository_has_password",
    )
    assert_problem(
        await home.client.patch(route, json={"selected_repository": "/nowhere"}), 422, "repository_not_found"
    )
    shown = (await home.client.patch(route, json=named)).json()
    async with home.database.read() as session:
        conversation = await session.get_one(Conversation, UUID(started["id"]))
        task = await session.get_one(StartTask, conversation.id)
        reached = [name for name, _, _ in named_by(home.state["cipher"], conversation, task)]
    found = await home.client.get(f"{ROOT}/count", params={"selected_repository__contains": "boats"})
    ended = (await home.client.patch(route, json={"selected_repository": None})).json()

    assert {name: shown[name] for name in named} == named
    assert reached == ["acme/boats", str(repository)]
    # network rules and permissions stay those of the start
    assert identity_of(conversation) == str(repository)
    assert found.json() == 1
    assert (ended["selected_repository"], ended["selected_branch"]) == (None, "sea")


@pytest.mark.both_databases
async def test_tags_are_given_found_and_taken_away(home: Home) -> None:
    first, second = [f"{ROOT}/{(await home.start())['id']}" for _ in range(2)]

    shown = (await home.client.patch(first, json={"tags": {"bug": "", "team": "Blue sea"}})).json()
    await home.client.patch(second, json={"tags": {"team": "red"}})
    tags = (await home.client.get(f"{ROOT}/tags")).json()

    async def number(*tags: str) -> int:
        return int((await home.client.get(f"{ROOT}/count", params={"tag": tags})).json())

    assert shown["tags"] == {"bug": "", "team": "Blue sea"}
    assert tags == [
        {"key": "bug", "value": "", "count": 1},
        {"key": "team", "value": "Blue sea", "count": 1},
        {"key": "team", "value": "red", "count": 1},
    ]
    assert [await number("team"), await number("team:red"), await number("bug", "team:red")] == [2, 1, 0]
    assert await number("bug:") == await number("bug", "team:Blue sea") == 1
    assert (await home.client.patch(first, json={"tags": {}})).json()["tags"] == {}
    assert await number("bug") == 0


async def test_tags_of_another_form_are_refused(home: Home) -> None:
    route = f"{ROOT}/{(await home.start())['id']}"

    for tags in ({"Bug": ""}, {"a b": ""}, {"a": "x" * 257}, {f"t{n}": "" for n in range(21)}):
        assert_problem(await home.client.patch(route, json={"tags": tags}), 422, "validation_failed")


async def test_a_logging_processor_is_a_callback_of_the_conversation(home: Home) -> None:
    kinds = [{"kind": "SetTitleCallbackProcessor"}, {"kind": "LoggingCallbackProcessor"}]
    message = {"content": [{"type": "text", "text": "Hello"}]}

    started = await home.start(processors=kinds, initial_message=message, llm_profile="demo")
    [callback] = (await home.client.get("/api/v1/callbacks")).json()

    async def written() -> bool:
        deliveries = await home.client.get(f"/api/v1/callbacks/{callback['id']}/deliveries")
        return any(one["state"] == "delivered" for one in deliveries.json()["items"])

    assert started["request"]["processors"] == kinds
    assert (callback["processor"], callback["name"]) == ("log", "LoggingCallbackProcessor")
    assert callback["conversation_id"] == started["id"]
    await eventually(written)
