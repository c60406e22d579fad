"""Repositories that belong to teams: the list of a team's repositories, the people who may change this list,
and the rules for conversations about these repositories.
"""
