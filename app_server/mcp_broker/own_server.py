"""The address of our own MCP server for sandboxes (app_server/mcp), which no user has to add."""

from uuid import UUID

NAME = "slipway"
"""The name of our own MCP server in sandboxes. If a user's server has this name, it is used instead."""

PREFIX = f"/mcp/{NAME}/conversations"


def own_server_url(inner_url: str, conversation_id: UUID, proof: str) -> str:
    """Returns the address at which the agent of a conversation reaches the server.

    proof: of the conversation (see llm_gateway.proof), since all conversations of a sandbox have one key.
    """
    return f"{inner_url.rstrip('/')}{PREFIX}/{conversation_id.hex}/{proof}"
