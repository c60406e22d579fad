"""Routes for the user's decisions about actions that wait for approval, and for the rules that say when an
action needs approval.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agent_runtime.conversation.approval.answers import set_analyzer, set_policy, until_answers_are_taken
from agent_runtime.delegation.answers import approve, go_on_above, reject
from agent_runtime.security.kinds import UnsupportedKindError
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.dependencies import AllChildren, LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import (
    ConfirmationResponseRequest,
    SetConfirmationPolicyRequest,
    SetSecurityAnalyzerRequest,
    Success,
)

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post(
    "/events/respond_to_confirmation",
    responses={409: {"description": "Nothing waits, or other actions than those meant"}},
)
async def respond(
    conversation: LoadedConversation, children: AllChildren, answer: ConfirmationResponseRequest
) -> Success:
    """Approves the waiting actions, which then run, or rejects some or all of these actions.

    The waiting actions may be actions of this conversation's agent or of its sub-agents.
    """
    await until_answers_are_taken(conversation)
    if answer.accept:
        approve(conversation, children, remember=answer.remember, action_ids=answer.action_ids)
    else:
        approved = answer.approved_action_ids or ()
        reject(conversation, children, answer.reason, action_ids=answer.action_ids, approved=approved)
        if answer.run and not approved:
            conversation.start()
    if conversation.is_running:
        go_on_above(conversation, children)
    return Success()


@router.post("/confirmation_policy")
async def change_policy(conversation: LoadedConversation, request: SetConfirmationPolicyRequest) -> Success:
    """Sets the confirmation policy, which says which actions need approval. The policy applies from the
    model's next reply on. It does not affect actions that are already waiting for approval.
    """
    with _refused("unsupported_confirmation_policy"):
        set_policy(conversation, request.policy)
    return Success()


@router.post("/security_analyzer")
async def change_analyzer(conversation: LoadedConversation, request: SetSecurityAnalyzerRequest) -> Success:
    """Sets the security analyzer, which rates the risk of actions. The analyzer is used from the model's next
    reply on.
    """
    with _refused("unsupported_security_analyzer"):
        set_analyzer(conversation, request.security_analyzer)
    return Success()


@contextmanager
def _refused(code: str) -> Iterator[None]:
    try:
        yield
    except UnsupportedKindError as error:
        raise ServerProblem(422, code, str(error)) from error
