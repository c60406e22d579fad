"""Routes that change or copy a conversation.

They set the title, the budget and the model. They condense the conversation (replace older events by a
summary), copy it, and reset it to an earlier event. They also start a child conversation, and ask the agent's
model a question that is not part of the conversation.
"""

from typing import Annotated

from fastapi import Body, status
from pydantic import ValidationError

from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.changes import relabel, set_budget
from agent_runtime.conversation.model_switch import switch_llm as switch
from agent_runtime.conversation.side_question import ask
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
from agent_runtime.server.errors import invalid
from agent_runtime.server.routers.conversation.skill_texts import WantedView
from agent_runtime.server.routers.dependencies import AllChildren, Conversations, LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import (
    AskAgentRequest,
    AskAgentResponse,
    ConversationInfo,
    ForkRequest,
    NavigateRequest,
    StartChildConversationRequest,
    StartChildConversationResponse,
    Success,
    SwitchLLMRequest,
    UpdateConversationRequest,
)

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.patch("")
async def update(conversation: LoadedConversation, changes: UpdateConversationRequest) -> Success:
    """Sets the title, the tags and the budget of a conversation. A field that the request does not contain
    stays unchanged. New tags replace all earlier tags; a budget of null removes the limit.
    """
    relabel(conversation, title=changes.title, tags=changes.tags)
    if "max_budget_per_task" in changes.model_fields_set:
        set_budget(conversation, changes.max_budget_per_task)
    return Success()


@router.post("/condense", responses={409: {"description": "There is no condenser, or nothing to condense"}})
async def condense(conversation: LoadedConversation) -> Success:
    """Replaces older events of the conversation by a summary in the model's prompt. If the agent is
    working, this happens before the next call of the model, otherwise at once.
    """
    await conversation.condensing.request()
    return Success()


@router.post(
    "/children",
    status_code=status.HTTP_201_CREATED,
    responses={409: {"description": "There are too many children"}},
)
async def start_child(
    conversation: LoadedConversation, wanted: StartChildConversationRequest, children: AllChildren
) -> StartChildConversationResponse:
    """Starts a child conversation: a new conversation that works on a separate task with the settings of this
    conversation. Returns the id of the child and whether it works in a separate git work tree.
    """
    return await children.start(conversation.id, wanted)


@router.post("/switch_llm")
async def switch_llm(conversation: LoadedConversation, wanted: SwitchLLMRequest) -> Success:
    """Sets the model of the agent. The next model call uses it, also while the agent is working."""
    llm = _checked(wanted.llm, "llm")
    condenser_llm = None if wanted.condenser_llm is None else _checked(wanted.condenser_llm, "condenser_llm")
    switch(conversation, llm, condenser_llm)
    return Success()


@router.post("/ask_agent", responses={502: {"description": "The model cannot be asked"}})
async def ask_agent(conversation: LoadedConversation, request: AskAgentRequest) -> AskAgentResponse:
    """Asks the agent's model a question that is not part of the conversation, and returns the answer. The
    question and the answer are not stored.
    """
    return AskAgentResponse(response=await ask(conversation, request.question))


@router.post(
    "/fork",
    status_code=status.HTTP_201_CREATED,
    responses={409: {"description": "The id is taken"}},
)
async def fork(
    conversation: LoadedConversation,
    registry: Conversations,
    view: WantedView,
    wanted: Annotated[ForkRequest | None, Body()] = None,
) -> ConversationInfo:
    """Copies the conversation and returns the description of the copy. Later events in the original do not
    change the copy, and later events in the copy do not change the original.
    """
    return view((await registry.fork(conversation, wanted or ForkRequest())).info())


@router.post("/navigate", responses={409: {"description": "A run is going on"}})
async def navigate(
    conversation: LoadedConversation, request: NavigateRequest, view: WantedView
) -> ConversationInfo:
    """Resets the conversation to an earlier event and returns the description of the conversation. The
    conversation continues after this event. The log still contains the later events.
    """
    go_back(conversation, request.event_id)
    return view(conversation.info())


def _checked(given: JsonObject, where: str) -> LLM:
    try:
        return LLM.model_validate(given)
    except ValidationError as error:
        raise invalid(error, where) from error
