"""Tests of a repository with every kind of executable: before the user's consent none of them runs, and
later only those that the user has allowed.
"""

from pathlib import Path
from typing import Any

import pytest

from agent_runtime.project_executables.discover import find_executables
from tests.app_server.conversations.conftest import ROOT, Home, allowed, eventually
from tests.support.hostile_repository import FILES, KINDS, MARKS, HostileRepository, marking
from tests.support.scripted_llm import ScriptedLLM, call

LOADABLE_KINDS = {"hooks", "mcp_server", "plugin"}


@pytest.fixture
def hostile(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "hostile", serves=False)


@pytest.fixture
async def model(home: Home, scripted_llm: ScriptedLLM) -> str:
    """Creates a profile whose scripted model always answers with `finish`. Returns the profile's name."""
    scripted_llm.fallback = lambda _: call("finish", message="Done.")
    settings = {
        "model": "openai/scripted",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    return "mine"


def saying(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def stage(task: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in task["stages"] if each["status"] == name)


async def items_of(home: Home, conversation_id: str) -> dict[str, dict[str, Any]]:
    reply = await home.client.get(f"{ROOT}/{conversation_id}/consent")
    assert reply.status_code == 200, reply.text
    return {item["offer"]["kind"]: item for item in reply.json()["items"]}


async def answer(home: Home, conversation_id: str, **answers: list[str]) -> Any:
    return await home.client.post(f"{ROOT}/{conversation_id}/consent", json=answers)


async def ran(home: Home, conversation_id: str) -> set[str]:
    return set((await home.shell(conversation_id, f"ls {MARKS} 2>/dev/null || true")).split())


async def has_finished(home: Home, conversation_id: str) -> bool:
    return bool((await home.conversation(conversation_id))["execution_status"] == "finished")


async def provoke(home: Home, conversation_id: str) -> None:
    """Sends a message and makes a commit, so that every loaded hook runs."""
    seen = f"/api/v1/conversation/{conversation_id}/events/search?kind__eq=ObservationEvent&limit=100"
    before = len((await home.client.get(seen)).json()["items"])
    await home.client.post(f"{ROOT}/{conversation_id}/send-message", json=saying("Go on."))

    async def has_answered() -> bool:
        return len((await home.client.get(seen)).json()["items"]) > before

    await eventually(has_answered)
    await eventually(lambda: has_finished(home, conversation_id))
    await home.shell(conversation_id, "git commit -q --allow-empty -m more")


async def setup_has_ended(home: Home, conversation_id: str) -> Any:
    found = stage(await home.task(conversation_id), "RUNNING_SETUP_SCRIPT")
    return found if found["state"] in {"done", "failed"} else None


async def test_nothing_runs_before_consent_and_all_of_it_can_be_read(
    home: Home, hostile: HostileRepository, model: str
) -> None:
    task = await home.ready(
        selected_repository=str(hostile.path), llm_profile=model, initial_message=saying("Go.")
    )
    await eventually(lambda: has_finished(home, task["id"]))
    await provoke(home, task["id"])

    assert await ran(home, task["id"]) == set()
    assert stage(task, "RUNNING_SETUP_SCRIPT")["state"] == "skipped"
    assert "you have not allowed it yet" in stage(task, "RUNNING_SETUP_SCRIPT")["detail"]
    assert ".mcp.json" in stage(task, "STARTING_CONVERSATION")["detail"]
    items = await items_of(home, task["id"])
    assert tuple(items) == KINDS
    for kind, item in items.items():
        assert (item["state"], item["approved"], bool(item["is_loaded"])) == ("pending", None, False)
        shown = {file["path"]: file["text"] for file in item["offer"]["files"]}
        assert shown[FILES[kind]] == (hostile.path / FILES[kind]).read_text()


@pytest.mark.parametrize("kind", KINDS)
async def test_exactly_what_was_allowed_runs_in_the_conversation_that_is_under_way(
    home: Home, hostile: HostileRepository, model: str, kind: str
) -> None:
    task = await home.ready(selected_repository=str(hostile.path), llm_profile=model)
    executable = (await items_of(home, task["id"]))[kind]["offer"]

    reply = await answer(home, task["id"], allow=[executable["hash"]])
    if kind == "setup_script":
        await eventually(lambda: setup_has_ended(home, task["id"]))
    await provoke(home, task["id"])

    assert reply.status_code == 200, reply.text
    assert await ran(home, task["id"]) == {kind}
    items = await items_of(home, task["id"])
    assert {each for each in KINDS if items[each]["state"] == "allowed"} == {kind}
    assert {each for each in KINDS if items[each]["is_loaded"]} == {kind} & LOADABLE_KINDS


async def test_the_output_of_a_script_that_was_allowed_is_shown(
    home: Home, hostile: HostileRepository
) -> None:
    task = await home.ready(selected_repository=str(hostile.path))
    executable = (await items_of(home, task["id"]))["setup_script"]["offer"]

    await answer(home, task["id"], allow=[executable["hash"]])
    found = await eventually(lambda: setup_has_ended(home, task["id"]))

    assert (found["state"], found["output"]) == ("done", "installed\n")
    assert (await home.task(task["id"]))["status"] == "READY"


async def test_a_script_that_fails_leaves_the_conversation_as_it_is(
    home: Home, hostile: HostileRepository
) -> None:
    (hostile.path / ".openhands/setup.sh").write_text("echo almost\nexit 7\n")
    hostile.commit()
    task = await home.ready(selected_repository=str(hostile.path))
    executable = (await items_of(home, task["id"]))["setup_script"]["offer"]

    await answer(home, task["id"], allow=[executable["hash"]])
    found = await eventually(lambda: setup_has_ended(home, task["id"]))

    assert (found["state"], found["output"]) == ("failed", "almost\n")
    assert "exit code 7" in found["detail"]
    assert (await home.task(task["id"]))["status"] == "READY"


async def run_again(home: Home, conversation_id: str, executable_hash: str) -> Any:
    return await home.client.post(
        f"{ROOT}/{conversation_id}/run-setup-script", json={"hash": executable_hash}
    )


async def test_a_script_that_failed_is_run_again(home: Home, hostile: HostileRepository) -> None:
    (hostile.path / ".openhands/setup.sh").write_text("echo tried >> .git/tries; test -e .git/mended\n")
    hostile.commit()
    task = await home.ready(selected_repository=str(hostile.path))
    executable = (await items_of(home, task["id"]))["setup_script"]["offer"]
    await answer(home, task["id"], allow=[executable["hash"]])
    failed = await eventually(lambda: setup_has_ended(home, task["id"]))
    await home.shell(task["id"], "touch .git/mended")

    reply = await run_again(home, task["id"], executable["hash"])
    mended = await eventually(lambda: setup_has_ended(home, task["id"]))

    assert (failed["state"], reply.status_code, mended["state"]) == ("failed", 200, "done")
    assert mended["started_at"] > failed["started_at"]
    assert await home.shell(task["id"], "cat .git/tries") == "tried\ntried"
    assert (await items_of(home, task["id"]))["setup_script"]["state"] == "allowed"


async def test_a_script_runs_again_only_as_it_was_allowed_and_not_twice_at_once(
    home: Home, hostile: HostileRepository
) -> None:
    setup = hostile.path / ".openhands/setup.sh"
    setup.write_text("until test -e .git/go; do sleep 0.1; done\n")
    hostile.commit()
    task = await home.ready(selected_repository=str(hostile.path))
    executable = (await items_of(home, task["id"]))["setup_script"]["offer"]

    unasked = await run_again(home, task["id"], executable["hash"])
    await answer(home, task["id"], allow=[executable["hash"]])
    meanwhile = await run_again(home, task["id"], executable["hash"])
    await home.shell(task["id"], "touch .git/go")
    await eventually(lambda: setup_has_ended(home, task["id"]))
    await home.shell(task["id"], f"echo '{marking('smuggled')}' >> .openhands/setup.sh")
    changed = await run_again(home, task["id"], executable["hash"])

    refusals = [(one.status_code, one.json()["code"]) for one in (unasked, meanwhile, changed)]
    assert refusals == [(409, "not_allowed"), (409, "setup_script_runs"), (409, "offer_changed")]
    assert await ran(home, task["id"]) == set()


async def test_consent_is_remembered_and_asked_for_again_after_an_edit(
    home: Home, hostile: HostileRepository, model: str
) -> None:
    first = await home.ready(**allowed(hostile.path), llm_profile=model)
    await provoke(home, first["id"])
    assert await ran(home, first["id"]) == set(KINDS)

    second = await home.ready(selected_repository=str(hostile.path), llm_profile=model)
    await provoke(home, second["id"])
    assert await ran(home, second["id"]) == set(KINDS)
    assert {item["state"] for item in (await items_of(home, second["id"])).values()} == {"allowed"}

    shown = (hostile.path / FILES["hooks"]).read_text()
    hostile.edit("hooks")
    hostile.edit("setup_script")
    hostile.commit()
    third = await home.ready(selected_repository=str(hostile.path), llm_profile=model)
    await provoke(home, third["id"])
    items = await items_of(home, third["id"])
    assert await ran(home, third["id"]) == {"git_hook", "mcp_server", "plugin"}
    assert {kind for kind in KINDS if items[kind]["state"] == "pending"} == {"hooks", "setup_script"}
    approved = {file["path"]: file["text"] for file in items["hooks"]["approved"]["files"]}
    assert approved == {FILES["hooks"]: shown}
    assert "changed since you allowed it" in stage(third, "RUNNING_SETUP_SCRIPT")["detail"]


async def test_what_was_revoked_is_asked_for_again(
    home: Home, hostile: HostileRepository, model: str
) -> None:
    await home.ready(**allowed(hostile.path))
    for consent in (await home.client.get("/api/v1/consents")).json():
        assert (consent["repository"], consent["decision"]) == (str(hostile.path), "allowed")
        gone = await home.client.delete(f"/api/v1/consents/{consent['id']}")
        assert gone.status_code == 204

    task = await home.ready(selected_repository=str(hostile.path), llm_profile=model)
    await provoke(home, task["id"])

    assert await ran(home, task["id"]) == set()
    assert {item["state"] for item in (await items_of(home, task["id"])).values()} == {"pending"}
    assert (await home.client.get("/api/v1/consents")).json() == []


async def test_what_was_refused_is_not_asked_for_again_and_may_be_allowed_later(
    home: Home, hostile: HostileRepository
) -> None:
    first = await home.ready(selected_repository=str(hostile.path))
    executable = (await items_of(home, first["id"]))["setup_script"]["offer"]
    await answer(home, first["id"], refuse=[executable["hash"]])

    second = await home.ready(selected_repository=str(hostile.path))
    state = (await items_of(home, second["id"]))["setup_script"]["state"]
    before = await ran(home, second["id"])
    await answer(home, second["id"], allow=[executable["hash"]])
    await eventually(lambda: setup_has_ended(home, second["id"]))

    assert (state, before) == ("refused", set())
    assert "you have refused it" in stage(second, "RUNNING_SETUP_SCRIPT")["detail"]
    assert await ran(home, second["id"]) == {"setup_script"}


async def test_what_has_changed_since_it_was_shown_is_not_allowed(
    home: Home, hostile: HostileRepository, model: str
) -> None:
    task = await home.ready(selected_repository=str(hostile.path), llm_profile=model)
    shown = [item["offer"]["hash"] for item in (await items_of(home, task["id"])).values()]
    await home.shell(task["id"], f"echo '{marking('smuggled')}' >> tools/install.sh")

    reply = await answer(home, task["id"], allow=shown)
    await provoke(home, task["id"])

    assert (reply.status_code, reply.json()["code"]) == (409, "offer_changed")
    assert await ran(home, task["id"]) == set()


async def test_a_git_hook_that_is_edited_after_it_was_allowed_is_passed_over(
    home: Home, hostile: HostileRepository
) -> None:
    task = await home.ready(**allowed(hostile.path))

    said = await home.shell(
        task["id"],
        f"rm -rf {MARKS}; echo '{marking('smuggled')}' >> {FILES['git_hook']}\n"
        "git commit -qam edited; git log -1 --format=%s",
    )

    assert await ran(home, task["id"]) == set()
    assert "changed since it was allowed" in said
    assert "edited" in said


async def test_an_executable_that_cannot_be_reviewed_is_not_run(
    home: Home, hostile: HostileRepository
) -> None:
    script = hostile.path / ".openhands/setup.sh"
    script.unlink()
    script.symlink_to("/etc/profile")
    hostile.commit()
    [executable] = [each for each in find_executables(hostile.path) if each.kind == "setup_script"]

    task = await home.ready(**allowed(hostile.path))
    reply = await answer(home, task["id"], allow=[executable.hash])

    assert "leads out" in stage(task, "RUNNING_SETUP_SCRIPT")["detail"]
    assert (reply.status_code, reply.json()["code"]) == (409, "offer_changed")
