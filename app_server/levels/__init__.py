"""Settings at three levels: the organisation, teams and people. One rule says which value holds."""
