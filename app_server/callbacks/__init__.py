"""Callbacks: actions for each matching event of a conversation. An action is a signed webhook, a message in a
chat or by e-mail, a comment at the git host, or a line in the log.
"""
