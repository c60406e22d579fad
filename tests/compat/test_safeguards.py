"""Tests of the SDK client with what limits an agent: confirmations, analyzers, secrets and hooks."""

import json

import httpx
import pytest
from openhands.sdk import RemoteConversation
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ActionEvent, ObservationEvent, UserRejectObservation
from openhands.sdk.event.hook_execution import HookExecutionEvent
from openhands.sdk.event.security import SecurityAnalysisEvent
from openhands.sdk.hooks.config import HookConfig, HookDefinition, HookMatcher
from openhands.sdk.secret import LookupSecret, StaticSecret
from openhands.sdk.security.analyzer import SecurityAnalyzerBase
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, ConfirmRisky, NeverConfirm
from openhands.sdk.security.defense_in_depth.pattern import PatternSecurityAnalyzer
from openhands.sdk.security.defense_in_depth.policy_rails import PolicyRailSecurityAnalyzer
from openhands.sdk.security.ensemble import EnsembleSecurityAnalyzer
from openhands.sdk.security.llm_analyzer import LLMSecurityAnalyzer
from openhands.sdk.security.risk import SecurityRisk
from openhands.sdk.workspace import RemoteWorkspace
from pydantic import SecretStr

from tests.compat.conftest import Begin, only
from tests.support.agent_server import KEY, AgentServer
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, say


def waiting(begin: Begin, scripted_llm: ScriptedLLM, *commands: str) -> RemoteConversation:
    """Returns a conversation that waits for the user's confirmation of the first command. Each command comes
    in a separate reply of the model.
    """
    scripted_llm.script(*(call("terminal", command=command) for command in commands), say("Done."))
    conversation = begin("terminal")
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)
    assert conversation.state.execution_status is Status.WAITING_FOR_CONFIRMATION
    return conversation


def test_running_again_approves_what_waits(begin: Begin, scripted_llm: ScriptedLLM):
    conversation = waiting(begin, scripted_llm, "echo yes")
    assert only(conversation.state.events, ObservationEvent) == []

    conversation.run(timeout=PATIENCE_SECONDS)

    (result,) = only(conversation.state.events, ObservationEvent)
    assert result.observation.text == "yes"
    assert conversation.state.execution_status is Status.FINISHED


def test_a_rejection_is_told_with_its_reason_and_the_agent_goes_on(begin: Begin, scripted_llm: ScriptedLLM):
    conversation = waiting(begin, scripted_llm, "echo no")

    conversation.reject_pending_actions("Not like this.")

    conversation.state.refresh_from_server()
    assert conversation.state.execution_status is Status.IDLE
    conversation.run(timeout=PATIENCE_SECONDS)
    (rejection,) = only(conversation.state.events, UserRejectObservation)
    assert rejection.rejection_reason == "Not like this."
    assert "Not like this." in str(scripted_llm.requests[-1].messages)
    assert only(conversation.state.events, ObservationEvent) == []


@pytest.mark.parametrize(
    "policy", [NeverConfirm(), AlwaysConfirm(), ConfirmRisky(threshold=SecurityRisk.MEDIUM)]
)
def test_every_policy_is_taken_and_read_back(begin: Begin, policy: object):
    conversation = begin()

    conversation.set_confirmation_policy(policy)

    conversation.state.refresh_from_server()
    assert conversation.state.confirmation_policy == policy


@pytest.mark.parametrize(
    "analyzer",
    [
        LLMSecurityAnalyzer(),
        PatternSecurityAnalyzer(),
        PolicyRailSecurityAnalyzer(),
        EnsembleSecurityAnalyzer(analyzers=[PatternSecurityAnalyzer(), LLMSecurityAnalyzer()]),
    ],
    ids=lambda analyzer: type(analyzer).__name__,
)
def test_every_analyzer_is_taken_and_read_back(begin: Begin, analyzer: SecurityAnalyzerBase):
    conversation = begin()

    conversation.set_security_analyzer(analyzer)

    conversation.state.refresh_from_server()
    assert type(conversation.state.security_analyzer) is type(analyzer)
    conversation.set_security_analyzer(None)
    conversation.state.refresh_from_server()
    assert conversation.state.security_analyzer is None


def test_only_risky_actions_wait(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(
        call("terminal", command="echo safe", security_risk="LOW"),
        call("terminal", command="echo risky", security_risk="HIGH"),
        say("Done."),
    )
    conversation = begin("terminal")
    conversation.set_confirmation_policy(ConfirmRisky())
    conversation.set_security_analyzer(LLMSecurityAnalyzer())
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert conversation.state.execution_status is Status.WAITING_FOR_CONFIRMATION
    assert [event.observation.text for event in only(conversation.state.events, ObservationEvent)] == ["safe"]
    actions = only(conversation.state.events, ActionEvent)
    assert [action.security_risk for action in actions] == [SecurityRisk.LOW, SecurityRisk.HIGH]
    analyses = only(conversation.state.events, SecurityAnalysisEvent)
    assert analyses[-1].risks == {actions[-1].id: SecurityRisk.HIGH}


def test_secrets_reach_the_commands_that_name_them_and_are_hidden(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command="echo <$PLAIN_TOKEN $STATIC_TOKEN $MADE_TOKEN> | rev"))
    scripted_llm.script(call("terminal", command="echo $PLAIN_TOKEN"), say("Done."))
    conversation = begin("terminal", secrets={"PLAIN_TOKEN": "plain-canary"})
    conversation.update_secrets(
        {
            "STATIC_TOKEN": StaticSecret(value=SecretStr("static-canary")),
            "MADE_TOKEN": lambda: "made-canary",
        }
    )
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    hidden = only(conversation.state.events, ObservationEvent)[-1].observation.text
    assert hidden == "<secret-hidden>"
    everything = json.dumps(conversation.state.refresh_from_server()) + str(
        scripted_llm.requests[-1].messages
    )
    assert "canary" not in everything.replace(scripted_llm.api_key, "")
    names = set(conversation.state.secret_registry.secret_sources)
    assert {"PLAIN_TOKEN", "STATIC_TOKEN", "MADE_TOKEN"} <= names


def test_a_secret_is_looked_up_where_it_lives(
    begin: Begin, scripted_llm: ScriptedLLM, server: AgentServer, workspace: RemoteWorkspace
):
    url = f"{server.url}/server_info"
    secret = LookupSecret(url=url, headers={"X-Session-API-Key": KEY})
    scripted_llm.script(call("terminal", command='test -n "$LOOKED_UP" && echo there'), say("Done."))
    conversation = begin("terminal", secrets={"LOOKED_UP": secret})
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert only(conversation.state.events, ObservationEvent)[0].observation.text == "there"


def test_a_hook_blocks_a_tool_and_its_run_is_an_event(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(call("terminal", command="echo forbidden"), say("Then not."))
    no = HookDefinition(command="echo not here >&2; exit 2")
    config = HookConfig(pre_tool_use=[HookMatcher(matcher="terminal", hooks=[no])])
    conversation = begin("terminal", hook_config=config)
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    (rejection,) = only(conversation.state.events, UserRejectObservation)
    assert rejection.rejection_source == "hook"
    assert "not here" in rejection.rejection_reason
    (ran,) = only(conversation.state.events, HookExecutionEvent)
    assert ran.blocked
    conversation.state.refresh_from_server()
    assert conversation.state.hook_config == config


def test_an_unknown_policy_is_refused(begin: Begin, workspace: RemoteWorkspace):
    conversation = begin()
    url = f"/api/conversations/{conversation.id}/confirmation_policy"

    refusal = workspace.client.post(url, json={"policy": {"kind": "ConfirmOnMondays"}})

    assert refusal.status_code == httpx.codes.UNPROCESSABLE_ENTITY
