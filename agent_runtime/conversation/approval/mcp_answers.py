"""The user's answer to a tool of an MCP server that is not as it was approved."""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import McpChangeOutdatedError


def answer_mcp_change(
    conversation: ConversationEngine, server: str, tool: str, fingerprint: str, *, accept: bool
) -> None:
    """accept: the tool counts as approved as the server offers it now; else its calls stay refused.

    fingerprint: of the change that was looked at. McpChangeOutdatedError.
    """
    approvals = conversation.mcp_approvals.approvals
    change = approvals.change_of(server, tool)
    if change is None or change.fingerprint != fingerprint:
        raise McpChangeOutdatedError
    if accept:
        approvals.approve(server, change)
        conversation.expect_other_tools()
    else:
        approvals.refuse(server, change)
    conversation.emit(*conversation.mcp_approvals.keep())
