"""The secrets of a conversation: set, or replaced while it runs. None is ever given back."""

from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.state import Found
from agent_runtime.wire import Success, UpdateSecretsRequest

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post("/secrets")
async def update(conversation: Found, request: UpdateSecretsRequest) -> Success:
    """Adds secrets, or replaces those of the same name: the next command gets the new value."""
    conversation.secrets.update(request.secrets)
    conversation.keep_secrets()
    return Success()
