"""Routes to which a client sends a reply that the agent waits for.

There are three kinds of replies: the result of a client tool (a tool that a client executes), the user's
decision about a changed MCP tool, and the user's answer to a question of an MCP server.
"""

from agent_runtime.conversation.approval.client_tool_answers import answer_client_call
from agent_runtime.conversation.approval.mcp_answers import answer_mcp_change
from agent_runtime.server.routers.dependencies import LoadedConversation
from agent_runtime.server.routers.router import Router
from agent_runtime.tools.mcp.questions import ElicitationResponse
from agent_runtime.wire import ClientToolAnswer, McpChangeAnswer, McpQuestionAnswer, Success

router = Router(prefix="/api/conversations/{conversation_id}", tags=["conversations"])


@router.post(
    "/events/answer_client_tool", responses={409: {"description": "No call of this id waits for an answer"}}
)
async def answer_call(conversation: LoadedConversation, answer: ClientToolAnswer) -> Success:
    """Stores the result of a tool call that the client has executed, and gives it to the agent. The tool must
    be a client tool (a tool that a client executes) that was declared with `awaits_answer`.
    """
    answer_client_call(conversation, answer.action_id, answer.content, is_error=answer.is_error)
    return Success()


@router.post("/mcp/answer_change", responses={409: {"description": "The tool has not changed in this way"}})
async def answer_change(conversation: LoadedConversation, answer: McpChangeAnswer) -> Success:
    """Stores the user's decision about an MCP tool that has changed: the decision either approves the current
    definition of the tool, or refuses all later calls of the tool.
    """
    answer_mcp_change(conversation, answer.server, answer.tool, answer.fingerprint, accept=answer.accept)
    return Success()


@router.post(
    "/mcp/answer_question",
    responses={
        400: {"description": "The content does not fit the form"},
        409: {"description": "The question does not wait any more"},
    },
)
async def answer_question(conversation: LoadedConversation, answer: McpQuestionAnswer) -> Success:
    """Gives the user's answer to the MCP server that has asked a question during a tool call."""
    response = ElicitationResponse(answer.action, answer.content)
    conversation.run_context.mcp_questions.answer(answer.question_id, response)
    return Success()
