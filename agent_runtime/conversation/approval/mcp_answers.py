"""Records whether the user accepts an MCP tool that is new or whose definition has changed since its
approval.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import McpChangeOutdatedError


def answer_mcp_change(
    conversation: ConversationEngine, server: str, tool: str, fingerprint: str, *, accept: bool
) -> None:
    """Records whether the user accepts a new or changed MCP tool. `accept`: True approves the tool as the
    server offers it now; False refuses all calls of the tool.

    `fingerprint`: identifies the version of the tool that the user saw. Raises McpChangeOutdatedError if the
    server offers another version now.
    """
    approvals = conversation.run_context.mcp_approvals.approvals
    change = approvals.change_of(server, tool)
    if change is None or change.fingerprint != fingerprint:
        raise McpChangeOutdatedError
    if accept:
        approvals.approve(server, change)
        conversation.run_context.toolbox.expect_changes()
    else:
        approvals.refuse(server, change)
    conversation.emit(*conversation.run_context.mcp_approvals.keep())
