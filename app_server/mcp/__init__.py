"""The MCP server of this installation: for programs of users at `/mcp`, and for agents in sandboxes."""
