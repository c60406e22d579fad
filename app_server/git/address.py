"""Parses the name or URL of a git repository that a user gives. Does no I/O, except for one function that
checks whether a local path exists.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from app_server.core.errors import AppError

HOST_OF_PROVIDER = {
    "github": "github.com",
    "gitlab": "gitlab.com",
    "bitbucket": "bitbucket.org",
    "forgejo": "codeberg.org",
}
_SHORT = re.compile(r"^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+$")
# "name::address" would make git run one of its helper programs; a leading dash would be an option of ssh.
_SCP = re.compile(r"^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?[A-Za-z0-9.][A-Za-z0-9.-]*:(?!//|:)\S+$")
_SCHEMES = frozenset(("git", "http", "https", "ssh"))


class InvalidRepository(AppError):
    """The error that is raised if the repository that a user names cannot be used. Either the text is not the
    address of a repository, or the repository does not exist.
    """

    status = 422
    code = "repository_not_found"


@dataclass(frozen=True)
class Address:
    """The parsed address of a git repository. `url`: the full address, which may contain a password.
    `public_url`: the same address without credentials.
    """

    url: str
    public_url: str
    name: str
    """The name of the directory into which the repository is cloned."""
    local_path: Path | None = None
    """The path of a repository on this machine. None for a repository on another host."""

    @property
    def identity(self) -> str:
        """A text that is the same for all addresses of one repository: `host/owner/name`, or the path of a
        repository on the app server's machine.
        """
        if self.local_path is not None:
            return self.public_url.rstrip("/").removesuffix("/.git")
        if "://" in self.public_url:
            parts = urlsplit(self.public_url)
            host, path = parts.netloc.rpartition("@")[2], parts.path
        else:
            host, _, path = self.public_url.rpartition("@")[2].partition(":")
        return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"

    @property
    def has_credentials(self) -> bool:
        return self.url != self.public_url

    @property
    def web_url(self) -> str | None:
        """The HTTP or HTTPS address of the repository, without credentials. None if this address is not
        known: for a path on the app server's machine, and for a `git://` address.
        """
        if self.local_path is not None:
            return None
        if self.public_url.startswith(("http://", "https://")):
            return self.public_url
        if self.public_url.startswith("git://"):
            return None
        # The port and the user name of ssh do not apply to HTTP.
        host, _, path = self.identity.partition("/")
        ending = ".git" if self.public_url.endswith(".git") else ""
        return f"https://{_without_port(host)}/{path}{ending}"

    @property
    def origin(self) -> str | None:
        """The scheme, host and port of the repository's HTTP address (`web_url`), such as
        `https://github.com`. None if `web_url` is None.
        """
        return origin_of(self.web_url) if self.web_url else None


def origin_of(url: str) -> str:
    """Returns the origin of a URL, such as `https://host`, with the host in lower case. The origin contains
    the port only if the port is not the default port of the scheme. Raises ValueError for a text without a
    host.
    """
    parts = urlsplit(url)
    host, usual = parts.hostname or "", {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in {None, usual} else ""
    return f"{parts.scheme}://[{host}]{port}" if ":" in host else f"{parts.scheme}://{host}{port}"


def parse_address(repository: str, provider: str | None = None) -> Address:
    """Parses `owner/repo`, a git URL, or the absolute path of a repository on this machine. Returns an
    Address.

    `provider`: the git host of `owner/repo`; None means GitHub. Raises InvalidRepository (422) if the text
    has none of these three forms.
    """
    if any(ord(character) < 33 for character in repository.strip()) and "/" not in repository[:1]:
        raise _unreadable()
    if repository.lower().startswith(("/", "~", ".", "file:")):
        return _local(repository)
    if "://" in repository:
        return _url(repository)
    if _SHORT.match(repository):
        host = HOST_OF_PROVIDER.get(provider or "github")
        if host is None:
            raise InvalidRepository(
                f"No host is known for the provider {provider!r}.", fix="Give the repository's whole URL."
            )
        url = f"https://{host}/{repository.removesuffix('.git')}.git"
        return Address(url, url, _name(repository))
    if _SCP.match(repository):
        return Address(repository, repository, _name(repository))
    raise _unreadable()


def parse_identity(repository: str) -> str:
    """Returns the identity of a repository: a text such as `github.com/owner/name` that is the same for all
    its addresses (see `Address.identity`).

    `repository`: any text that `parse_address` accepts, or an identity. Raises InvalidRepository (422) for
    other texts.
    """
    host, _, path = repository.partition("/")
    names_host = "://" not in repository and "@" not in host and "." in host.strip(".") and "/" in path
    return parse_address(f"https://{repository}" if names_host else repository).identity


def check_exists(address: Address) -> None:
    """Checks that a repository on this machine exists. Does nothing for addresses on other hosts.

    Raises InvalidRepository if the repository does not exist. Blocks the thread while it reads the disk.
    """
    path = address.local_path
    if path is not None and not ((path / ".git").exists() or (path / "HEAD").is_file()):
        raise InvalidRepository(
            f"There is no git repository at {path}.",
            fix="Give the absolute path of a directory that contains a git repository.",
        )


def without_credentials(text: str) -> str:
    """Returns `text` with the user name and password removed from every URL."""
    return re.sub(r"(?<=://)[^/\s]+@", "", text)


def _local(repository: str) -> Address:
    raw = repository
    if repository.lower().startswith("file:"):
        parts = urlsplit(repository)
        if parts.netloc not in {"", "localhost"}:
            raise _unreadable()
        raw = unquote(parts.path)
    path = Path(raw)
    if not path.is_absolute() or "\x00" in raw:
        raise InvalidRepository(
            f"{repository!r} is not an absolute path.", fix="Give the whole path, beginning with a slash."
        )
    return Address(str(path), str(path), _name(str(path).removesuffix("/.git")), local_path=path)


def _url(repository: str) -> Address:
    try:
        parts = urlsplit(repository)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _unreadable() from None
    if parts.scheme not in _SCHEMES or not host or not parts.path.strip("/"):
        raise _unreadable()
    if host.startswith("-") or (parts.username or "").startswith("-"):
        raise _unreadable()
    netloc = f"[{host}]" if ":" in host else host
    netloc += f":{port}" if port else ""
    # With ssh the user name is the account on the host, as in git@; it is not secret.
    if parts.scheme == "ssh" and parts.username:
        netloc = f"{parts.username}@{netloc}"
    public = urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    has_credentials = parts.password is not None or (parts.scheme != "ssh" and parts.username is not None)
    return Address(repository if has_credentials else public, public, _name(parts.path))


def _without_port(host: str) -> str:
    return re.sub(r":[0-9]+$", "", host)


def _name(path: str) -> str:
    last = re.split(r"[/:]", path.rstrip("/"))[-1].removesuffix(".git")
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", last).lstrip(".-")
    return name or "repository"


def _unreadable() -> InvalidRepository:
    return InvalidRepository(
        "The repository is not given as owner/name, a git URL or an absolute path.",
        fix="Examples: octocat/hello, https://git.example.org/team/project.git, /srv/git/project",
    )
