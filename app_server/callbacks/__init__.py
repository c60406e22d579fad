"""Callbacks: actions that the server runs for each matching event of a conversation. The action is a signed
webhook, a message in a chat or by e-mail, a comment at the git host, a new conversation, or an entry in the
server's log.
"""
