"""Repositories that belong to teams: which repositories a team has, who may change this list, and which rules
hold for conversations on these repositories.
"""
