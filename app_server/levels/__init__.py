"""Settings at three levels: the organisation, teams and people. One rule decides which value applies."""
