"""What an agent waits for from others than its model: answers of the client, and to changes of MCP tools."""

from agent_runtime.conversation.client_answers import answer_client_call
from agent_runtime.conversation.mcp_answers import answer_mcp_change
from agent_runtime.server.routers.router import Router
from agent_runtime.server.routers.state import Found
from agent_runtime.wire import ClientToolAnswer, McpChangeAnswer, Success

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post(
    "/events/answer_client_tool", responses={409: {"description": "No call of this id waits for an answer"}}
)
async def answer_call(conversation: Found, answer: ClientToolAnswer) -> Success:
    """The result of a call of a client's own tool that was declared with `awaits_answer`."""
    answer_client_call(conversation, answer.action_id, answer.content, is_error=answer.is_error)
    return Success()


@router.post("/mcp/answer_change", responses={409: {"description": "The tool has not changed in this way"}})
async def answer_change(conversation: Found, answer: McpChangeAnswer) -> Success:
    """Approves a tool of an MCP server as it is offered now, or has its calls refused for good."""
    answer_mcp_change(conversation, answer.server, answer.tool, answer.fingerprint, accept=answer.accept)
    return Success()
