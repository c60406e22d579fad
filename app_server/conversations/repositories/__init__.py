"""The repositories of a conversation: further ones, their checkouts, and what git of its sandbox reaches."""
