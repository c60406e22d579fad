"""Signs users in to git hosts with OAuth applications and GitHub Apps, and renews the tokens that a sign-in
gives.
"""
