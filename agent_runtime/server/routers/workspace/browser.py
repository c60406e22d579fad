"""The route that shows the agent's browser to people."""

from agent_runtime.conversation.browser_preview import glimpse
from agent_runtime.server.routers.dependencies import Conversations, KnownId
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import BrowserGlimpse

router = Router(prefix="/api/conversations/{conversation_id}/browser", tags=["conversations"])


@router.get("")
async def look(conversation_id: KnownId, registry: Conversations) -> BrowserGlimpse:
    """Returns the tabs of the agent's browser and a screenshot of the current page.

    If the conversation is not in memory, the reply says that no browser is open. The request does not load
    the conversation into memory.
    """
    conversation = registry.awake(conversation_id)
    return BrowserGlimpse() if conversation is None else await glimpse(conversation)
