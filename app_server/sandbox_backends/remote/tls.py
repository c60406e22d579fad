"""Whom we believe to be a sandbox host."""

import ssl

from app_server.core.config import Config


def trust_of_hosts(config: Config) -> ssl.SSLContext | None:
    """The system's authorities, and the one that is named beside them; None when there are no hosts."""
    if not config.sandbox_hosts:
        return None  # reading the certificates takes 20 ms
    context = ssl.create_default_context()
    if config.sandbox_hosts_ca:
        context.load_verify_locations(config.sandbox_hosts_ca)
    return context
