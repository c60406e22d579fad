"""Fixtures for attacks on the proxy through which sandboxes reach the network: those of the proxy's own
tests.
"""

from tests.app_server.conftest import app, client, no_outer_configuration, owner
from tests.app_server.egress.conftest import config, upstream, way_out
from tests.app_server.git_proxy.conftest import database_url

__all__ = [
    "app",
    "client",
    "config",
    "database_url",
    "no_outer_configuration",
    "owner",
    "upstream",
    "way_out",
]
