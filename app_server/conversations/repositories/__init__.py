"""The repositories of a conversation: the further ones, their checkouts, and what git in its sandbox reaches."""
