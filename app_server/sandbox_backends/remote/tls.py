"""The certificate authorities that are trusted for sandbox hosts."""

import ssl

from app_server.core.config import Config


def trust_of_hosts(config: Config) -> ssl.SSLContext | None:
    """Returns a TLS context with the system's authorities and the configured one. None if
    there are no hosts.
    """
    if not config.sandbox_hosts:
        return None  # reading the certificates takes 20 ms
    context = ssl.create_default_context()
    if config.sandbox_hosts_ca:
        context.load_verify_locations(config.sandbox_hosts_ca)
    return context
