"""The repositories of a conversation: further repositories besides the first one, checkouts (the directories
of repositories in the sandbox), submodules, and which repositories git in the sandbox can reach.
"""
