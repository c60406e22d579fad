"""Settings at three levels: the organisation, teams and people. One rule decides which level's value applies
to a person.
"""
