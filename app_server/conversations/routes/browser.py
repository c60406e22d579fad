"""The route that returns the tabs and a picture of the current page of the agent's browser."""

from fastapi import APIRouter

from app_server.agent_client.replies import BrowserView
from app_server.conversations.routes.dependencies import OwnedConversation, Viewer

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/browser", tags=["Conversations"])


@router.get("")
async def browser(viewer: Viewer, conversation: OwnedConversation) -> BrowserView:
    """Returns the open tabs of the agent's browser and a picture of the current page. 409
    `sandbox_not_running` if the sandbox does not run.
    """
    return await viewer.sandboxes.client(conversation.sandbox_id).browser(conversation.id)
