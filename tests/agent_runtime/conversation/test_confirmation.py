"""Tests of an agent that asks the user before it runs actions, with a real shell and a scripted model."""

from typing import Any

import pytest

from agent_runtime.conversation.approval.answers import approve, reject, set_analyzer, set_policy
from agent_runtime.conversation.approval.pending_actions import ANSWERED_BY_MESSAGE
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConfirmationOutdatedError, NothingToConfirmError
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.security.kinds import UnsupportedKindError
from tests.agent_runtime.conversation.conftest import Conversations, kinds_of, of_kind, statuses_of, user
from tests.support.scripted_llm import call, calls, say, text_of

WAITING = ExecutionStatus.WAITING_FOR_CONFIRMATION
ALWAYS = {"kind": "AlwaysConfirm"}
RISKY = {"kind": "ConfirmRisky"}
LLM = {"kind": "LLMSecurityAnalyzer"}
NO = "Not in this directory, please."


def shell(command: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "terminal", {"command": command, **arguments}


async def asked(conversations: Conversations, *commands: str, **request: Any) -> ConversationEngine:
    """Returns a conversation that waits for the user's confirmation of these commands, all in one reply of
    the model.
    """
    conversations.llm.script(calls(*map(shell, commands)))
    conversation = conversations.create(**{"confirmation_policy": ALWAYS, **request})
    conversation.send(user("Go."))
    await conversation.run()
    return conversation


async def test_a_batch_waits_as_a_whole_and_nothing_of_it_runs(conversations: Conversations):
    conversations.llm.script(calls(("think", {"thought": "hm"}), shell("touch made")))
    conversation = conversations.create(confirmation_policy=ALWAYS)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING
    assert len(conversation.state.pending) == 2
    assert not (conversations.workspace / "made").exists()
    assert kinds_of(conversation)[-1] == "SecurityAnalysisEvent"


async def test_thinking_and_finishing_are_never_asked_about(conversations: Conversations):
    conversations.llm.script(calls(("think", {"thought": "hm"})), call("finish", message="Done."))
    conversation = conversations.create(confirmation_policy=ALWAYS)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is ExecutionStatus.FINISHED


@pytest.mark.parametrize("by", ["answer", "run"])
async def test_approved_actions_run_and_the_agent_goes_on(conversations: Conversations, by: str):
    conversation = await asked(conversations, "touch made", "touch more")
    conversations.llm.script(say("Done."))

    approve(conversation) if by == "answer" else conversation.start()
    await conversation.wait()

    assert conversation.status is ExecutionStatus.FINISHED
    assert (conversations.workspace / "made").exists()
    assert statuses_of(conversation) == ["running", WAITING, "running", "finished"]


async def test_some_actions_run_and_the_model_is_told_why_the_others_do_not(conversations: Conversations):
    conversation = await asked(conversations, "touch one", "touch two", "touch three")
    conversations.llm.script(say("I see."))
    first, second, third = (action.id for action in conversation.state.pending)

    reject(conversation, NO, action_ids=[first, second, third], approved=[first, third])
    await conversation.wait()

    assert conversation.status is ExecutionStatus.FINISHED
    assert sorted(path.name for path in conversations.workspace.iterdir()) == ["one", "three"]
    assert [one["action_id"] for one in of_kind(conversation, "UserRejectObservation")] == [second]
    assert [one["action_id"] for one in of_kind(conversation, "ObservationEvent")] == [first, third]
    told = [text_of(m) for m in conversations.llm.requests[-1].messages if m["role"] == "tool"]
    assert [NO in one for one in told] == [False, True, False], "in the order of the calls"


async def test_an_approval_of_what_does_not_wait_changes_nothing(conversations: Conversations):
    conversation = await asked(conversations, "touch one", "touch two")
    first = conversation.state.pending[0].id

    with pytest.raises(ConfirmationOutdatedError):
        reject(conversation, NO, approved=[first, "another"])

    assert conversation.status is WAITING
    assert len(conversation.state.pending) == 2


async def test_rejected_actions_do_not_run_and_the_model_is_told_why(conversations: Conversations):
    conversation = await asked(conversations, "touch made", "touch more")
    conversations.llm.script(say("I see."))

    reject(conversation, NO)
    assert conversation.status is ExecutionStatus.IDLE
    rejections = of_kind(conversation, "UserRejectObservation")
    assert [(one["rejection_source"], one["rejection_reason"]) for one in rejections] == [("user", NO)] * 2
    await conversation.run()

    answers = [m for m in conversations.llm.requests[-1].messages if m["role"] == "tool"]
    assert all(NO in text_of(answer) for answer in answers)
    assert len(answers) == 2
    assert not (conversations.workspace / "made").exists()


async def test_a_message_takes_the_place_of_an_approval(conversations: Conversations):
    conversation = await asked(conversations, "touch made")
    conversations.llm.script(say("Then not."))

    conversation.send(user("Write it to another file."))
    assert conversation.status is ExecutionStatus.IDLE
    await conversation.run()

    assert not (conversations.workspace / "made").exists()
    last = conversations.llm.requests[-1].messages
    assert ANSWERED_BY_MESSAGE in text_of(last[-2])
    assert text_of(last[-1]) == "Write it to another file."


async def test_a_pause_does_not_answer_the_question(conversations: Conversations):
    conversation = await asked(conversations, "touch made")

    conversation.pause()
    await conversation.interrupt()

    assert conversation.status is WAITING


async def test_the_question_outlives_the_process(conversations: Conversations):
    conversation = await asked(conversations, "touch made")
    await conversation.close()

    again = conversations.reopen()
    assert again.status is WAITING
    conversations.llm.script(say("Done."))
    approve(again)
    await again.wait()

    assert (conversations.workspace / "made").exists()


async def test_an_answer_to_nothing_or_to_other_actions_is_refused(conversations: Conversations):
    conversation = await asked(conversations, "touch made")
    waiting = [action.id for action in conversation.state.pending]

    with pytest.raises(ConfirmationOutdatedError):
        approve(conversation, action_ids=["another"])
    reject(conversation, NO, action_ids=waiting)
    with pytest.raises(NothingToConfirmError):
        approve(conversation)


async def test_a_remembered_approval_holds_for_alike_actions_only(conversations: Conversations):
    conversation = await asked(conversations, "touch made")
    conversations.llm.script(calls(shell("touch more")), calls(shell("mkdir directory")))

    approve(conversation, remember=True)
    await conversation.wait()

    assert (conversations.workspace / "more").exists()
    assert conversation.status is WAITING
    assert not (conversations.workspace / "directory").exists()
    await conversation.close()
    assert conversations.reopen().state.approved == ("terminal: touch",)


async def test_a_risky_action_is_asked_about_whatever_the_model_says(conversations: Conversations):
    conversations.llm.script(
        calls(shell("echo fine > a", security_risk="LOW")),
        calls(shell("sudo --version", security_risk="LOW", summary="Says hello")),
    )
    conversation = conversations.create(confirmation_policy=RISKY, security_analyzer=LLM)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING
    assert (conversations.workspace / "a").exists()
    first, second = of_kind(conversation, "SecurityAnalysisEvent")
    assert list(first["risks"].values()) == ["LOW"]
    assert list(second["risks"].values()) == ["HIGH"]
    assert second["analyzer"] == "LLMSecurityAnalyzer"
    assert second["policy"] == "ConfirmRisky"
    (details,) = second["details"].values()
    assert details["reasons"] == ["runs with the rights of another user"]
    (action,) = conversation.state.pending
    assert (action.security_risk, action.summary) == ("LOW", "Says hello")


@pytest.mark.parametrize("said", ["HIGH", None, "harmless"])
async def test_the_models_own_doubts_count(conversations: Conversations, said: str | None):
    risk = {} if said is None else {"security_risk": said}
    conversations.llm.script(calls(shell("touch made", **risk)))
    conversation = conversations.create(confirmation_policy=RISKY, security_analyzer=LLM)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING


async def test_without_an_analyzer_the_rules_alone_decide(conversations: Conversations):
    conversation = await asked(conversations, "touch made", confirmation_policy=RISKY)
    assert (conversations.workspace / "made").exists()

    conversations.llm.script(calls(shell("sudo true")))
    conversation.send(user("More."))
    await conversation.run()

    assert conversation.status is WAITING
    assert of_kind(conversation, "SecurityAnalysisEvent")[-1]["analyzer"] == "CommandRules"


async def test_where_the_shell_has_gone_counts(conversations: Conversations):
    conversations.llm.script(calls(shell("cd /usr")), calls(shell("rm -rf nothing-of-that-name")))
    conversation = conversations.create(confirmation_policy=RISKY)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING


async def test_an_unknown_tool_needs_approval(conversations: Conversations):
    name = "tests.agent_runtime.conversation.meeting:MeetingTool"
    conversations.llm.script(call("meeting", place="here", at="noon"))
    conversation = conversations.create(tools=[name], confirmation_policy=RISKY)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING
    (details,) = of_kind(conversation, "SecurityAnalysisEvent")[0]["details"].values()
    assert details["rules"] == ["unknown-tool"]


async def test_policy_and_analyzer_can_be_changed_and_stay_so(conversations: Conversations):
    conversation = conversations.create()
    assert "security_risk" not in required(conversation)

    set_policy(conversation, ALWAYS)
    set_analyzer(conversation, LLM)
    assert "security_risk" in required(conversation)
    await conversation.close()

    again = conversations.reopen()
    assert again.info().confirmation_policy == ALWAYS
    assert again.info().security_analyzer == LLM
    assert "security_risk" in required(again)
    set_analyzer(again, None)
    assert again.info().security_analyzer is None
    assert "security_risk" not in required(again)


def required(conversation: ConversationEngine) -> list[str]:
    terminal = next(
        s for s in conversation.run_context.toolbox.schemas if s["function"]["name"] == "terminal"
    )
    found: list[str] = terminal["function"]["parameters"]["required"]
    return found


async def test_what_is_not_known_here_is_refused(conversations: Conversations):
    with pytest.raises(UnsupportedKindError):
        conversations.create(confirmation_policy={"kind": "SometimesConfirm"})
    with pytest.raises(UnsupportedKindError):
        conversations.create(security_analyzer={"kind": "GraySwanAnalyzer"})
    conversation = conversations.create()
    with pytest.raises(UnsupportedKindError):
        set_policy(conversation, {"kind": "ConfirmRisky", "threshold": "SOME"})


async def test_an_invalid_call_in_a_batch_is_answered_and_the_rest_waits(conversations: Conversations):
    conversations.llm.script(calls(shell("touch made"), ("terminal", {"nonsense": 1})))
    conversation = conversations.create(confirmation_policy=ALWAYS)
    conversation.send(user("Go."))
    await conversation.run()

    assert conversation.status is WAITING
    assert len(conversation.state.pending) == 1
