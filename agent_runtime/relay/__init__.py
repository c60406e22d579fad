"""Relays HTTP requests and WebSocket connections to another server. Used by the agent server and the app
server.
"""
