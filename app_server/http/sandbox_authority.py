"""Reads the public certificate of Slipway's own certificate authority, which sandboxes trust."""

import base64
from pathlib import Path

from app_server.core.config import Config

VARIABLE = "OH_EGRESS_AUTHORITY"


def certificate_file(config: Config) -> Path:
    """Returns the path of the certificate of Slipway's own certificate authority, which sandboxes trust. The
    file is created at the app server's first start by the module `egress/tls/authority.py`.
    """
    return config.home / "egress-authority.crt"


def trust_variables(config: Config) -> dict[str, str]:
    """Returns a dictionary with the environment variable that makes an agent server trust Slipway's
    certificate authority. The dictionary is empty if there is no certificate yet. Reads a small file, so it
    blocks the thread briefly.

    The value of the variable is the certificate's PEM text, encoded as one line of base64. PEM has several
    lines, and some container engines cannot store several lines in a variable.
    """
    pem = read_authority(config)
    return {VARIABLE: base64.b64encode(pem.encode()).decode()} if pem else {}


def read_authority(config: Config) -> str | None:
    """Returns the certificate of Slipway's own certificate authority, which sandboxes trust, as PEM. Returns
    None if there is no certificate yet. Reads a small file, so it blocks the thread briefly.
    """
    try:
        return certificate_file(config).read_text()
    except FileNotFoundError:
        return None
