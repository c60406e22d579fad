"""How the tests are run: lanes, limits, order, durations, budgets."""
