"""Computes token counts and prices of model calls, for the agent runtime and the app server."""
