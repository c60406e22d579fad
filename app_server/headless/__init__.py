"""Runs a task from the command line without a browser: the commands `slipway run` and `slipway demo`. Uses
only the public API of the server.
"""
