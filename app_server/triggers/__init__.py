"""Triggers. A trigger connects a repository at a git host with Slipway by a webhook. An event at the git
host, such as a new label on an issue, then starts a conversation or is sent to a conversation as a message.
"""
