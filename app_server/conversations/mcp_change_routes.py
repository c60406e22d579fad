"""What the user says to a tool of an MCP server that is not as it was approved."""

from fastapi import APIRouter

from agent_runtime.wire import McpChangeAnswer
from app_server.conversations.dependencies import OwnedConversation, Viewer
from app_server.conversations.schemas import Success

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


@router.post("/answer-mcp-change")
async def answer(viewer: Viewer, conversation: OwnedConversation, body: McpChangeAnswer) -> Success:
    """Approves the tool as it is offered now, or keeps refusing it. 409 `mcp_change_outdated`."""
    await viewer.sandboxes.client(conversation.sandbox_id).answer_mcp_change(conversation.id, body)
    return Success()
