"""Shells for people: a bash on a terminal for each conversation, which a WebSocket shows."""
