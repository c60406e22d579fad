"""Tests of memory: a note that the agent of one conversation makes reaches the next conversation about the
same repository.
"""

from pathlib import Path

import pytest

from tests.app_server.conversations.conftest import ROOT, Home, commit, eventually, git
from tests.support.scripted_llm import ScriptedLLM, call, say

NOTE = {"command": "create", "name": "tests", "title": "Running the tests", "text": "Use make check."}


@pytest.fixture
async def model(home: Home, scripted_llm: ScriptedLLM) -> str:
    """Creates a profile with a scripted model. Returns the profile's name."""
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    reply = await home.client.post("/api/v1/settings/profiles/scripted", json={"llm": llm})
    assert reply.is_success, reply.text
    return "scripted"


async def finished(home: Home, model: str, repository: Path, text: str) -> str:
    """Starts a conversation about the repository with this message, and waits until the agent has finished.
    Returns its id.
    """
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    task = await home.ready(
        selected_repository=str(repository), llm_profile=model, initial_message=message, title="t"
    )

    async def is_finished() -> bool:
        return (await home.conversation(task["id"]))["execution_status"] == "finished"

    await eventually(is_finished)
    conversation_id: str = task["id"]
    return conversation_id


async def accept_all(home: Home) -> None:
    """Accepts all notes that agents have proposed, as the user does in the settings."""
    for proposal in (await home.client.get("/api/v1/memory-proposals")).json():
        reply = await home.client.post(f"/api/v1/memory-proposals/{proposal['id']}/accept")
        assert reply.status_code == 204


async def test_a_note_reaches_the_next_conversation_until_its_user_deletes_it(
    home: Home, model: str, repository: Path, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("memory_write", **NOTE), say("Done."), say("Aye."), say("Aye."))
    first = await finished(home, model, repository, "Look around.")
    await accept_all(home)
    (note,) = (await home.client.get("/api/v1/memory")).json()

    second = await finished(home, model, repository, "Run the tests.")

    assert note["conversation_id"] == first
    assert (await home.client.get(f"{ROOT}/{first}/git/changes")).json() == []
    assert (await home.client.get(f"{ROOT}/{second}/git/changes")).json() == []
    assert "Use make check." in await home.shell(second, "cat .agents/memory/tests.md")
    prompt, message = scripted_llm.requests[2].messages
    assert "- tests: Running the tests" in prompt["content"]
    assert "Use make check." in message["content"]

    await home.client.delete(f"/api/v1/memory/{note['id']}")
    await finished(home, model, repository, "Run the tests.")

    assert "make check" not in str(scripted_llm.requests[3].messages)


async def test_a_repositorys_own_notes_stay_and_show_in_its_diff(
    home: Home, model: str, repository: Path, scripted_llm: ScriptedLLM
) -> None:
    own = repository / ".agents/memory"
    own.mkdir(parents=True)
    (own / "own.md").write_text("---\ntitle: Our own\n---\nKept in git.")
    commit(repository, "Note")
    scripted_llm.script(
        call("memory_write", **NOTE),
        call("memory_write", command="update", name="own", text="Changed by the agent."),
        say("Done."),
        say("Aye."),
    )
    await finished(home, model, repository, "Look around.")
    await accept_all(home)

    second = await finished(home, model, repository, "Run the tests.")

    assert "Kept in git." in await home.shell(second, "cat .agents/memory/own.md")
    assert "Use make check." in await home.shell(second, "cat .agents/memory/tests.md")
    assert (await home.client.get(f"{ROOT}/{second}/git/changes")).json() == []
    assert git(repository, "status", "--porcelain") == ""
