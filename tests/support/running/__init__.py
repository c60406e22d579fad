"""Controls how the tests are run: lanes, time limits, order, durations and budgets."""
