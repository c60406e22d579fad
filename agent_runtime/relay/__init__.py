"""Relays HTTP requests and WebSocket connections to another server. The agent server and the app server use
this package.
"""
