"""Callbacks: what runs for each matching event of a conversation: a signed webhook, or a line in the log."""
