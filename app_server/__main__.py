"""Runs the `slipway` command as `python -m app_server`."""

from app_server.cli.main import app

app()
