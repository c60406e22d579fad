"""The MCP server of this installation. It offers tools to users' own programs at `/mcp`, and to agents in
sandboxes.
"""
