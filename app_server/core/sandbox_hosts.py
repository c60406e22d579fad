"""The configuration of the sandbox hosts: the machines on which sandboxes run, if they do not run on the
machine of the app server.
"""

from pathlib import Path

from pydantic import BaseModel, Field


class SandboxHost(BaseModel):
    """The configuration of one sandbox host: a machine on which `slipway sandbox-host` runs. `url`: the URL
    at which the app server reaches the host. `token_file`: a file with the token that the host requires from
    the app server.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
    url: str = Field(pattern=r"^https?://[^/?#@]+/?$")
    token_file: Path
