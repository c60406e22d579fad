"""Records whether the user approves an MCP tool that is new, or whose definition has changed since the user
approved it.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import McpChangeOutdatedError


def answer_mcp_change(
    conversation: ConversationEngine, server: str, tool: str, fingerprint: str, *, accept: bool
) -> None:
    """Records the user's decision about a new or changed tool of an MCP server. `accept`: True approves the
    tool's current definition; False refuses all calls of the tool.

    `fingerprint`: identifies the version of the tool's definition that the user saw. Raises
    McpChangeOutdatedError if the tool's current definition is another version.
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
