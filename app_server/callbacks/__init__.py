"""Callbacks: actions that run for each matching event of a conversation. Such an action sends a signed
webhook, a chat message or an e-mail, writes a comment at the git host, starts a new conversation, or writes a
line into the server's log.
"""
