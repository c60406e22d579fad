"""Relays HTTP and WebSocket exchanges to another server, for the agent server and the app server."""
