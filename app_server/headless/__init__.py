"""Runs a task without a browser: `slipway run` and `slipway demo`. Uses the public API alone."""
