"""The token usage and the price of model calls, for the runtime and the app server."""
