"""Tests of the proof of finished work: the commands that ran after the last change, and statements of the
agent that the log does not support.
"""

import orjson
import pytest

from agent_runtime.conversation.event_log.commands import kind_of, tells_result
from agent_runtime.conversation.run.proof_check import claims_tests
from tests.agent_runtime.conversation.conftest import Conversations, events_of, of_kind, user
from tests.support.scripted_llm import call, calls, say

EDIT = {"command": "create", "file_text": "x = 1\n"}


def proofs(conversation) -> list[dict]:
    values = [event["value"] for event in events_of(conversation) if event.get("key") == "agent_state"]
    return [value["proof"] for value in values if "proof" in value]


def questions(conversation) -> list[str]:
    messages = [event for event in of_kind(conversation, "MessageEvent") if event["source"] == "environment"]
    return [message["llm_message"]["content"][0]["text"] for message in messages]


async def played(conversations: Conversations, *turns):
    conversations.llm.script(*turns)
    conversation = conversations.create(tools=["terminal", "file_editor"])
    conversation.send(user("Do it."))
    await conversation.run()
    return conversation


def edit(conversations: Conversations, name: str = "a.py"):
    return call("file_editor", path=str(conversations.workspace / name), **EDIT)


async def test_commands_that_ran_after_the_last_change_are_cited_by_their_events(
    conversations: Conversations,
):
    conversation = await played(
        conversations,
        call("terminal", command="python3 -c 'import early'"),
        edit(conversations),
        call("terminal", command="python3 a.py && echo fine"),
        call("terminal", command="ls"),
        call("finish", message="Done.", changed=["a.py"], checked=["python3 a.py"]),
    )

    run = of_kind(conversation, "ActionEvent")[2]
    assert proofs(conversation) == [
        {
            "status": "verified",
            "changed": [str(conversations.workspace / "a.py")],
            "commands": [
                {
                    "event_id": run["id"],
                    "command": "python3 a.py && echo fine",
                    "exit_code": 0,
                    "is_test": False,
                    "is_cited": True,
                }
            ],
        }
    ]
    assert conversation.info().agent_state["proof"] == proofs(conversation)[0]
    finish = of_kind(conversation, "ActionEvent")[-1]
    # Clients of the protocol know only the field `message`, so the action has no other field.
    assert finish["action"] == {"message": "Done.", "kind": "FinishAction"}
    assert orjson.loads(finish["tool_call"]["arguments"])["checked"] == ["python3 a.py"]


async def test_a_change_after_the_last_run_is_unverified(conversations: Conversations):
    conversation = await played(
        conversations,
        call("terminal", command="python3 -c 'pass'"),
        edit(conversations),
        say("I changed it and have not tested it."),
    )
    (proof,) = proofs(conversation)
    assert (proof["status"], proof["commands"]) == ("unverified", [])
    assert questions(conversation) == []


async def test_failing_tests_do_not_verify(conversations: Conversations):
    conversation = await played(
        conversations,
        edit(conversations),
        call("terminal", command="python3 -c 'pass'"),
        call("terminal", command="python3 -m unittest no_such_module"),
        call("finish", message="One test fails still."),
    )
    assert proofs(conversation)[0]["status"] == "unverified"


async def test_a_claim_that_nothing_bears_out_is_questioned_once(conversations: Conversations):
    conversation = await played(
        conversations,
        edit(conversations),
        call("finish", message="I changed a.py. All tests pass."),
        call("finish", message="All tests pass, believe me."),
    )
    (text,) = questions(conversation)
    assert "nothing has run after your last change" in text
    assert conversation.state.final_response == "All tests pass, believe me."
    assert [proof["status"] for proof in proofs(conversation)] == ["unverified"]


async def test_an_agent_that_is_asked_for_proof_may_run_the_command_and_is_then_verified(
    conversations: Conversations,
):
    conversation = await played(
        conversations,
        edit(conversations),
        call("finish", message="Done.", checked=["python3 a.py"]),
        call("terminal", command="python3 a.py"),
        call("finish", message="Done.", checked=["python3 a.py"]),
    )
    (text,) = questions(conversation)
    assert "You cite `python3 a.py`, which did not run after your last change." in text
    assert [proof["status"] for proof in proofs(conversation)] == ["verified"]


async def test_a_claim_against_a_failed_run_is_questioned(conversations: Conversations):
    conversation = await played(
        conversations,
        edit(conversations),
        call("terminal", command="python3 -m unittest no_such_module"),
        say("Now all tests pass."),
        say("They do not pass: a module is missing."),
    )
    assert "ended with exit code 1" in questions(conversation)[0]


async def test_nothing_is_shown_where_nothing_was_changed_and_nothing_twice(conversations: Conversations):
    conversation = await played(conversations, calls(("terminal", {"command": "ls"})), say("Nothing there."))
    assert proofs(conversation) == []

    conversations.llm.script(edit(conversations), say("Made."), say("You are welcome."))
    for text in ("Make it.", "Thanks."):
        conversation.send(user(text))
        await conversation.run()
    assert len(proofs(conversation)) == 1


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest -q", "tests"),
        ("python3 -m unittest 2>&1 | tail -1", "tests"),
        ("cd web && npm run test:unit", "tests"),
        ("pytest > out.txt 2>&1", "tests"),
        ("FOO=1 timeout 60 go test ./...", "tests"),
        ("make check", "tests"),
        ("grep -rn pytest . | head; git log | grep test", "looks"),
        ("pip install pytest", "looks"),
        ("git commit -m 'tests pass'", "looks"),
        ('echo "a > b"', "looks"),
        ("sed -n 1,3p x", "looks"),
        ("sed -i s/a/b/ x", "changes"),
        ("cat > a.py <<'EOF'\nimport pytest\nEOF", "changes"),
        ("git checkout -- a", "changes"),
        ("python main.py 2>/dev/null", "runs"),
        ("make", "runs"),
    ],
)
def test_commands_are_told_apart(command: str, kind: str):
    assert kind_of(command) == kind


@pytest.mark.parametrize(
    ("text", "is_claim"),
    [
        ("Now the tests pass.", True),
        ("All 12 unit tests passed.", True),
        ("I ran the test suite. Tests are green.", True),
        ("The tests do not pass yet.", False),
        ("I could not check that all tests pass.", False),
        ("Run pytest to see whether tests pass.", False),
        ("I did not run the tests.", False),
        ("I added a test.", False),
    ],
)
def test_claims_are_recognised_and_denials_are_not(text: str, is_claim: bool):
    assert claims_tests(text) is is_claim


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("pytest -q", True),
        ("cd harbour; pytest -q && ruff check", True),
        ("set -o pipefail; pytest -q | tail -20", True),
        ("pytest -q 2>&1 | tail -20", False),
        ("pytest || true", False),
        ("npm test; echo done", False),
        ("pytest -q\ngit status", False),
    ],
)
def test_only_the_last_program_of_a_command_tells_its_result(command: str, is_told: bool):
    assert tells_result(command) is is_told
