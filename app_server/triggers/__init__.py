"""Triggers: rules by which events at a git host, such as a new issue, start conversations in Slipway or send
messages to running conversations.
"""
