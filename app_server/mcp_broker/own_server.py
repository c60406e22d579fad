"""Builds the address of Slipway's own MCP server for sandboxes (app_server/mcp). Users need not add this
server.
"""

from uuid import UUID

NAME = "slipway"
"""The name of our own MCP server in sandboxes. If a user's server has this name, it is used instead."""

PREFIX = f"/mcp/{NAME}/conversations"


def own_server_url(inner_url: str, conversation_id: UUID, proof: str) -> str:
    """Returns the address at which the agent of a conversation reaches Slipway's own MCP server.

    proof: a text that proves which conversation the caller belongs to (see llm_gateway.proof). It is needed
    because all conversations in a sandbox have the same key.
    """
    return f"{inner_url.rstrip('/')}{PREFIX}/{conversation_id.hex}/{proof}"
