"""The id and the tokens with which the app server identifies itself to sandbox hosts (other machines that run
sandboxes).
"""

import secrets
from pathlib import Path

from app_server.core.errors import StartFailure
from app_server.core.sandbox_hosts import SandboxHost


def installation_id(home: Path) -> str:
    """Returns the random id of this Slipway installation, which is stored in a file in its home directory."""
    path = home / "installation"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(secrets.token_hex(16))
    return path.read_text().strip()


def read_token(host: SandboxHost) -> str:
    """Returns the token with which the app server calls a sandbox host (another machine that runs sandboxes).
    Reads the token from the configured file. Raises StartFailure `sandbox_host_refused` if the file cannot be
    read or contains no valid token.
    """
    try:
        token = host.token_file.expanduser().read_text().strip()
    except OSError as error:
        cause = f"The token of the sandbox host {host.name} cannot be read: {error}"
    else:
        if token.isascii() and token.isprintable() and token:
            return token
        cause = f"{host.token_file} holds no token for the sandbox host {host.name}."
    raise StartFailure(
        "sandbox_host_refused",
        cause,
        fix=f"Copy the file `host-token` of that host's SLIPWAY_HOME to {host.token_file}.",
    )
