"""Manages the repositories of a conversation: the first repository, further repositories and submodules, and
their checkouts (directories in the sandbox). Also decides which repositories git in the sandbox can reach.
"""
