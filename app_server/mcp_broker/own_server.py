"""Builds the URL at which the agents in sandboxes reach Slipway's own MCP server (app_server/mcp). Each
conversation has a separate URL. Agents get this server automatically; users do not add it in their settings.
"""

from uuid import UUID

NAME = "slipway"
"""The name of Slipway's own MCP server in sandboxes. If a server of the user has this name, agents get the
user's server instead.
"""

PREFIX = f"/mcp/{NAME}/conversations"


def own_server_url(inner_url: str, conversation_id: UUID, proof: str) -> str:
    """Returns the address at which the agent of a conversation reaches Slipway's own MCP server.

    `inner_url`: the address at which sandboxes reach the app server. `proof`: a secret text that proves from
    which conversation a request comes (see app_server.llm_gateway.conversation_proof). The session key (with
    which a sandbox calls the app server) does not prove this, because all conversations in a sandbox use the
    same key.
    """
    return f"{inner_url.rstrip('/')}{PREFIX}/{conversation_id.hex}/{proof}"
