"""Decides which actions of the agent must wait for the user's confirmation, and builds the events for
approvals and rejections.
"""

from collections.abc import Mapping, Sequence

from agent_runtime.conversation.event_log.state import ANALYZER, APPROVED, POLICY, State
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event
from agent_runtime.events.observation import UserRejectObservation
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update
from agent_runtime.security.analyzers import AnyAnalyzer, read_analyzer
from agent_runtime.security.policy import read_policy
from agent_runtime.security.review import Reviewer
from agent_runtime.tools.tool import AnyTool
from agent_runtime.wire import StartConversationRequest

ANSWERED_BY_MESSAGE = "The user did not approve this and wrote a message instead, which follows."


def check_safeguards(request: StartConversationRequest) -> None:
    """Checks that the server supports the request's confirmation policy and security analyzer. Raises
    UnsupportedKindError if the policy or the analyzer is of an unknown kind.
    """
    read_policy(request.confirmation_policy)
    read_analyzer(request.security_analyzer)


def analyzer_of(spec: Spec, state: State) -> AnyAnalyzer | None:
    return read_analyzer(state.safeguards.get(ANALYZER, spec.request.security_analyzer))


def reviewer_of(spec: Spec, state: State, tools: Mapping[str, AnyTool]) -> Reviewer:
    """Returns an object that decides whether actions of the agent need the user's confirmation. `spec`,
    `state`: the specification and the state of the conversation; they contain its current confirmation policy
    and security analyzer. `tools`: the agent's tools by name.
    """
    return Reviewer(
        policy=read_policy(state.safeguards.get(POLICY, spec.request.confirmation_policy)),
        analyzer=analyzer_of(spec, state),
        tools=tools,
        workspace=str(spec.working_dir),
        directory=state.shell_dir,
        approved=state.approved,
    )


def review(reviewer: Reviewer, actions: Sequence[ActionEvent]) -> list[Event]:
    """Decides whether the user must confirm the agent's actions. Returns events for the log: the security
    analysis of the actions, and the status `waiting_for_confirmation` if the user must confirm the actions.
    The caller must log these events and the actions in one transaction, so that a crash cannot leave actions
    in the log without these events.
    """
    found = reviewer.review(actions)
    waits = [status_update(ExecutionStatus.WAITING_FOR_CONFIRMATION)] if found.asks else []
    return [*([found.event] if found.event else []), *waits]


def approval(reviewer: Reviewer, state: State) -> ConversationStateUpdateEvent:
    """Returns an event that stores which kinds of actions need no confirmation from now on in the
    conversation. These are the kinds that were stored before, and the kinds of the pending actions (tool
    calls without a result).

    `reviewer`: determines the kind of an action. For example, all calls of the same program in a shell
    command are one kind. `state`: the conversation's state, with the stored kinds and the pending actions.
    """
    kinds = dict.fromkeys((*state.approved, *map(reviewer.likeness, state.pending)))
    return ConversationStateUpdateEvent(key="agent_state", value={APPROVED: list(kinds)})


def rejections(pending: Sequence[ActionEvent], reason: str) -> list[UserRejectObservation]:
    return [
        UserRejectObservation(
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            rejection_reason=reason,
            action_id=action.id,
        )
        for action in pending
    ]
