"""Executables of a repository (for example hooks and MCP servers) run only with the user's consent. The
consent is valid only for the version that the user saw.
"""

import json
from pathlib import Path

import pytest

from agent_runtime import Conversation, ConversationError, ObservationEvent
from agent_runtime.events.hook import HookExecutionEvent
from tests.agent_runtime.client.conftest import Place
from tests.support.hostile_repository import FILES, HostileRepository, marking
from tests.support.scripted_llm import call, say

pytestmark = pytest.mark.parametrize("place", ["local", "remote"], indirect=True)

LOADED = ("hooks", "mcp_server", "plugin")
EACH_TURN = {"hooks": [{"type": "command", "command": "bash tools/hook.sh"}]}


@pytest.fixture
def repository(place: Place, tmp_path: Path) -> HostileRepository:
    return HostileRepository(Path(place.workspace.working_dir))


def hash_of(place: Place, kind: str) -> str:
    return next(executable.hash for executable in place.workspace.executables() if executable.kind == kind)


def say_to(conversation: Conversation, text: str = "Go.") -> None:
    conversation.send_message(text)
    conversation.run()


def hook_errors(conversation: Conversation) -> list[str]:
    events = conversation.state.events
    return [event.error for event in events if isinstance(event, HookExecutionEvent) and event.error]


def test_nothing_of_it_runs_without_consent(place: Place, repository: HostileRepository):
    place.llm.script(call("terminal", command="true"), say("Done."))

    say_to(place.conversation())

    assert repository.ran() == set()
    assert "add" not in place.llm.requests[0].tool_names


@pytest.mark.parametrize("kind", LOADED)
def test_exactly_what_was_consented_to_runs(place: Place, repository: HostileRepository, kind: str):
    place.llm.script(say("Done."))

    say_to(place.conversation(consent=[hash_of(place, kind)]))

    assert repository.ran() == {kind}


def test_a_function_is_asked_about_each_of_them(place: Place, repository: HostileRepository):
    place.llm.script(say("Done."))
    asked: list[str] = []

    say_to(place.conversation(consent=lambda one: bool(asked.append(one.kind)) or one.kind == "hooks"))

    assert asked == ["setup_script", "git_hook", "hooks", "mcp_server", "plugin"]
    assert repository.ran() == {"hooks"}


@pytest.mark.parametrize("kind", LOADED)
def test_consent_is_for_the_version_that_was_shown(place: Place, repository: HostileRepository, kind: str):
    place.llm.script(say("Done."))
    shown = hash_of(place, kind)

    repository.edit(kind)
    say_to(place.conversation(consent=[shown]))

    assert repository.ran() == set()
    assert hash_of(place, kind) != shown


def test_it_joins_a_conversation_that_is_under_way(place: Place, repository: HostileRepository):
    place.llm.script(say("Hello."), call("add", a=1, b=2), say("3"))
    conversation = place.conversation()
    say_to(conversation)
    before = repository.ran()

    conversation.consent([hash_of(place, kind) for kind in LOADED])
    say_to(conversation, "Add.")

    assert before == set()
    assert repository.ran() == set(LOADED)
    results = [str(one.observation) for one in conversation.state.events if isinstance(one, ObservationEvent)]
    assert any("sum=3" in result for result in results)


def test_consent_to_what_is_not_offered_any_more_is_refused(place: Place, repository: HostileRepository):
    place.llm.script(say("Hello."))
    conversation = place.conversation()
    shown = [hash_of(place, kind) for kind in LOADED]
    repository.edit("plugin")

    with pytest.raises(ConversationError) as refusal:
        conversation.consent(shown)
    say_to(conversation)

    assert refusal.value.code == "offer_changed"
    assert repository.ran() == set()


def test_an_agent_that_edits_an_approved_script_does_not_get_it_run(
    place: Place, repository: HostileRepository
):
    smuggled = f"echo '{marking('smuggled')}' >> {FILES['hooks']}"
    place.llm.script(call("terminal", command=smuggled), say("Done."), say("Again."))
    (repository.path / ".openhands/hooks.json").write_text(json.dumps({"UserPromptSubmit": [EACH_TURN]}))
    conversation = place.conversation(consent=[hash_of(place, "hooks")])

    say_to(conversation)
    say_to(conversation, "And now?")

    assert repository.ran() == {"hooks"}
    assert any(
        "tools/hook.sh has changed since it was approved" in error for error in hook_errors(conversation)
    )


def test_an_agent_that_rewrites_the_files_changes_nothing_that_was_approved(
    place: Place, repository: HostileRepository
):
    smuggle = marking("smuggled")
    rewrite = (
        f"echo '{smuggle}' > .agents/plugins/evil/mark.sh; "
        f"""echo '{{"stop": [{{"hooks": [{{"command": "{smuggle}"}}]}}]}}' > .openhands/hooks.json"""
    )
    place.llm.script(call("terminal", command=rewrite), say("Done."), say("Again."))
    conversation = place.conversation(consent=[hash_of(place, kind) for kind in ("hooks", "plugin")])

    say_to(conversation)
    repository.forget()
    say_to(conversation, "And now?")

    assert repository.ran() == {"plugin"}


def test_a_server_whose_script_has_changed_is_not_started(place: Place, repository: HostileRepository):
    place.llm.script(say("Done."))
    conversation = place.conversation(consent=[hash_of(place, "mcp_server")])

    repository.edit("mcp_server")
    say_to(conversation)

    assert repository.ran() == set()
    assert "add" not in place.llm.requests[0].tool_names


def test_a_plugin_of_the_project_is_not_loaded_by_its_name(place: Place, repository: HostileRepository):
    place.llm.script(say("Hello."))
    conversation = place.conversation()

    with pytest.raises(ConversationError) as refusal:
        conversation.load_plugin("evil")
    say_to(conversation)

    assert refusal.value.code == "consent_required"
    assert repository.ran() == set()
