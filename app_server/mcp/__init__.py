"""Slipway's own MCP server. It provides tools to programs of users at `/mcp`, and to agents in sandboxes at
an internal address.
"""
