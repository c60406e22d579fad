"""The repositories that a conversation works on: further repositories beside the first one, their checkouts
in the sandbox, and the repositories that git in the sandbox can reach.
"""
