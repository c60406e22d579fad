"""The models of repositories that git commands in a sandbox reach through the app server."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

# These texts are written into a configuration file of git.
_PLAIN = r"^[^\x00-\x20\x7f\"\\]+$"
_Plain = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=_PLAIN)]


class GitRemote(BaseModel):
    """A repository that git commands in the sandbox reach through the app server.

    `name`: the repository as `host/owner/name`. It becomes a part of the URL at which git reaches the
    repository through the app server. `addresses`: the beginnings of the repository's usual URLs. If a
    command uses a URL that begins with one of them, git sends the request to the app server instead.
    """

    model_config = ConfigDict(frozen=True)

    name: _Plain
    addresses: tuple[_Plain, ...]


class GitSigning(BaseModel):
    """The data with which git signs commits in the sandbox. `public_key`: the public key as `ssh-ed25519
    BASE64`. The app server has the private key.
    """

    model_config = ConfigDict(frozen=True)

    public_key: Annotated[str, StringConstraints(max_length=1000, pattern=r"^ssh-ed25519 [A-Za-z0-9+/=]+$")]


class GitRemotes(BaseModel):
    """The request body of PUT /api/git/remotes: the repositories that git commands in the sandbox reach
    through the app server. `signing`: how commits are signed; null if commits are not signed.
    """

    remotes: tuple[GitRemote, ...]
    signing: GitSigning | None = None
