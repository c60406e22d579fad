"""The repositories of a conversation: the further ones, the checkouts, and which repositories git in the
sandbox can reach.
"""
