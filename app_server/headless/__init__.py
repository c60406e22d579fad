"""Runs a task from the command line without a browser, for `slipway run` and `slipway demo`. This package
calls only the public API of the server.
"""
