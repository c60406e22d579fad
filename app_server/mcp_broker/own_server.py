"""The address of our own MCP server for sandboxes (app_server/mcp), which no user has to add."""

from uuid import UUID

NAME = "slipway"
"""Its name in sandboxes. A user's server with this name takes its place."""

PREFIX = f"/mcp/{NAME}/conversations"


def own_server_url(inner_url: str, conversation_id: UUID, proof: str) -> str:
    """Returns the address at which the agent of a conversation reaches the server.

    proof: of the conversation (see llm_gateway.proof), since all conversations of a sandbox have one key.
    """
    return f"{inner_url.rstrip('/')}{PREFIX}/{conversation_id.hex}/{proof}"
