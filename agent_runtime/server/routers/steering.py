"""Steering a conversation: condense, ask beside the work, copy it, go back, name it."""

from fastapi import APIRouter, status

from agent_runtime.conversation.ask import ask
from agent_runtime.conversation.errors import (
    AlreadyRunningError,
    EventNotFoundError,
    NoCondenserError,
    NothingToCondenseError,
)
from agent_runtime.llm.errors import LLMError
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.state import Conversations, Found
from agent_runtime.wire import (
    AskAgentRequest,
    AskAgentResponse,
    ConversationInfo,
    ForkRequest,
    NavigateRequest,
    Success,
    UpdateConversationRequest,
)

router = APIRouter(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.patch("")
async def update(conversation: Found, changes: UpdateConversationRequest) -> Success:
    """Sets title and tags; tags replace all earlier ones."""
    conversation.update(title=changes.title, tags=changes.tags)
    return Success()


@router.post("/condense", responses={409: {"description": "There is no condenser, or nothing to condense"}})
async def condense(conversation: Found) -> Success:
    """Has older events summed up: now, or before the next reply of a run that is going on."""
    try:
        await conversation.condense()
    except NoCondenserError as error:
        raise ServerProblem(
            409, "no_condenser", "This agent has no condenser.", "Give the agent an LLMSummarizingCondenser."
        ) from error
    except NothingToCondenseError as error:
        raise ServerProblem(
            409, "nothing_to_condense", "The conversation is too short to condense."
        ) from error
    return Success()


@router.post("/ask_agent")
async def ask_agent(conversation: Found, request: AskAgentRequest) -> AskAgentResponse:
    """Answers a question from what the agent knows. Nothing of it is stored."""
    try:
        return AskAgentResponse(response=await ask(conversation, request.question))
    except LLMError as error:
        raise ServerProblem(502, "llm_failed", f"{error.code}: {error}") from error


@router.post(
    "/fork",
    status_code=status.HTTP_201_CREATED,
    responses={409: {"description": "The id is taken"}},
)
async def fork(conversation: Found, wanted: ForkRequest, registry: Conversations) -> ConversationInfo:
    """A copy of the conversation that goes its own way."""
    try:
        return (await registry.fork(conversation, wanted)).info()
    except EventNotFoundError as error:
        raise _no_event(error) from error


@router.post("/navigate", responses={409: {"description": "A run is going on"}})
async def navigate(conversation: Found, request: NavigateRequest) -> ConversationInfo:
    """Goes back to an event, to go on from there. The log keeps what came after it."""
    try:
        conversation.navigate(request.event_id)
    except AlreadyRunningError as error:
        raise ServerProblem(
            409, "already_running", "The conversation is running.", "Pause or interrupt it first."
        ) from error
    except EventNotFoundError as error:
        raise _no_event(error) from error
    return conversation.info()


def _no_event(error: EventNotFoundError) -> ServerProblem:
    return ServerProblem(404, "event_not_found", f"There is no event {str(error)[:128]} to go back to.")
