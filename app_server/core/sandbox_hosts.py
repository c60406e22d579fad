"""The configuration of the machines on which sandboxes run."""

from pathlib import Path

from pydantic import BaseModel, Field


class SandboxHost(BaseModel):
    """A machine on which `slipway sandbox-host` runs. token_file: a file with the token that this machine
    requires.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
    url: str = Field(pattern=r"^https?://[^/?#@]+/?$")
    token_file: Path
