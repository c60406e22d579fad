"""Repositories that git in a sandbox reaches through the app server."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

# These texts are written into a configuration file of git.
_PLAIN = r"^[^\x00-\x20\x7f\"\\]+$"
_Plain = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=_PLAIN)]


class GitRemote(BaseModel):
    """One repository.

    name: `host/owner/name`, the name that the app server uses.
    addresses: beginnings of URLs that stand for this repository.
    """

    model_config = ConfigDict(frozen=True)

    name: _Plain
    addresses: tuple[_Plain, ...]


class GitSigning(BaseModel):
    """How commits are signed. public_key: `ssh-ed25519 BASE64`. The app server has the private key."""

    model_config = ConfigDict(frozen=True)

    public_key: Annotated[str, StringConstraints(max_length=1000, pattern=r"^ssh-ed25519 [A-Za-z0-9+/=]+$")]


class GitRemotes(BaseModel):
    """The repositories that git reaches through the app server. signing: null if commits are not signed."""

    remotes: tuple[GitRemote, ...]
    signing: GitSigning | None = None
