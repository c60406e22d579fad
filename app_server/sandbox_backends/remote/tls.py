"""Builds the TLS settings for connections to sandbox hosts (other machines that run sandboxes for the app
server).
"""

import ssl

from app_server.core.config import Config


def trust_of_hosts(config: Config) -> ssl.SSLContext | None:
    """Returns the TLS context for connections to sandbox hosts. It trusts the system's certificate
    authorities and, if one is configured, the certificate authority of the sandbox hosts. Returns None if no
    sandbox hosts are configured.
    """
    if not config.sandbox_hosts:
        return None  # reading the certificates takes 20 ms
    context = ssl.create_default_context()
    if config.sandbox_hosts_ca:
        context.load_verify_locations(config.sandbox_hosts_ca)
    return context
