"""The route that sets the secrets of a conversation, also while the agent is working. The route never returns
the values of secrets.
"""

from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import Success, UpdateSecretsRequest

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post("/secrets")
async def update(conversation: LoadedConversation, request: UpdateSecretsRequest) -> Success:
    """Adds secrets to the conversation, or replaces secrets with the same name. Commands that start later use
    the new values.
    """
    conversation.secrets.update(request.secrets)
    conversation.keep_secrets()
    return Success()
