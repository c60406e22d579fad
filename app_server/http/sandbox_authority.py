"""The authority whose certificates sandboxes believe, as far as everybody may know it."""

import base64
from pathlib import Path

from app_server.core.config import Config

VARIABLE = "OH_EGRESS_AUTHORITY"


def certificate_file(config: Config) -> Path:
    """Made at the app server's first start (`egress.authority`)."""
    return config.home / "egress-authority.crt"


def trust_variables(config: Config) -> dict[str, str]:
    """What tells an agent server of it; empty where there is none yet. Small, blocking.

    One line of base64, since PEM has several, which not every engine keeps in a variable.
    """
    pem = read_authority(config)
    return {VARIABLE: base64.b64encode(pem.encode()).decode()} if pem else {}


def read_authority(config: Config) -> str | None:
    """Its certificate as PEM; None where there is none yet. Small, blocking."""
    try:
        return certificate_file(config).read_text()
    except FileNotFoundError:
        return None
