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


class GitRemotes(BaseModel):
    remotes: tuple[GitRemote, ...]
