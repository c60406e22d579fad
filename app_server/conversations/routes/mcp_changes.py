"""Routes for the user's replies to MCP servers. A user approves or refuses an MCP tool that its server has
changed, and answers questions that an MCP server asks.
"""

from fastapi import APIRouter

from agent_runtime import wire
from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.routes.dependencies import OwnedConversation, SteeredConversation, Viewer
from app_server.conversations.schemas import Success
from app_server.core.database import ServerDatabase
from app_server.http.strict_body import StrictBody
from app_server.mcp_approvals.service import keep_answer

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}", tags=["Conversations"])


class McpChangeAnswer(wire.McpChangeAnswer, StrictBody):
    """The user's decision whether the agent may call an MCP tool whose definition has changed.

    `fingerprint`: identifies the change that the user was shown.
    """


class McpQuestionAnswer(wire.McpQuestionAnswer, StrictBody):
    """The user's answer to a question that an MCP server asks. `question_id`: the question's `id` in the list
    `mcp_questions` of the conversation's state.

    `content`: the values of an accepted form by field name. Missing fields get the defaults of the form. Null
    means that the answer contains no values.
    """


@router.post("/answer-mcp-change")
async def answer(
    viewer: Viewer,
    trail: CurrentTrail,
    conversation: OwnedConversation,
    body: McpChangeAnswer,
    database: ServerDatabase,
) -> Success:
    """Stores and sends the user's decision about an MCP tool whose definition its MCP server has changed: the
    agent may call the changed tool, or still may not call it. Until the user allows the change, the agent
    cannot call the tool.

    409 `mcp_change_outdated` if the tool has changed again since the user saw the change.
    """
    client = viewer.sandboxes.client(conversation.sandbox_id)
    # The answer is stored before it is sent, because the sandbox may report the approval before it replies.
    async with database.session() as session:
        await keep_answer(session, conversation.user_id, conversation.id, body)
        action = AuditAction.AGENT_ACTION_APPROVED if body.accept else AuditAction.AGENT_ACTION_REFUSED
        target = (AuditTarget.CONVERSATION, conversation.id)
        trail.record(session, action, target, mcp_server=body.server, changed_tool=body.tool)
    await client.answer_mcp_change(conversation.id, body)
    return Success()


@router.post("/answer-mcp-question")
async def answer_question(
    viewer: Viewer, conversation: SteeredConversation, body: McpQuestionAnswer
) -> Success:
    """Sends the user's answer to a question that an MCP server asked during a tool call.

    409 `mcp_question_closed` if the question no longer waits for an answer. 400 `mcp_answer_invalid` if the
    answer is not of the form that the question asks for.
    """
    client = viewer.sandboxes.client(conversation.sandbox_id)
    await client.answer_mcp_question(conversation.id, body)
    return Success()
