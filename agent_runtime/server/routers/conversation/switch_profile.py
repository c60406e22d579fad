"""The route that switches a conversation to the model of a profile (saved model settings with a name)."""

from pydantic import BaseModel

from agent_runtime.conversation.model_switch import switch_llm
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.profiles import checked, profile_of
from agent_runtime.server.routers.router import Router
from agent_runtime.server.saved.secret_exposure import Saved
from agent_runtime.wire import Success

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


class SwitchProfileRequest(BaseModel):
    profile_name: str


@router.post("/switch_profile")
async def switch_profile(
    conversation: LoadedConversation, wanted: SwitchProfileRequest, store: Saved
) -> Success:
    """Changes the model of the agent to the model of a model profile (saved model settings with a name). The
    new model is used from the next model call on, also while the agent is working.
    """
    llm = checked(profile_of(store, wanted.profile_name))
    switch_llm(conversation, llm.model_copy(update={"usage_id": conversation.agent.llm.usage_id}))
    return Success()
