"""Triggers: webhooks of repositories at git hosts. An event at the git host, such as a new label on an issue,
starts a conversation in Slipway, or is sent to a conversation as a message.
"""
