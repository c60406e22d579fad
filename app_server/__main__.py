"""`python -m app_server` is the `slipway` command."""

from app_server.cli.main import app

app()
