"""Passing HTTP and WebSocket exchanges on to another server, as the agent server and the app server do."""
