"""Decides which git submodules of a conversation's repositories may be fetched, and gives the reason if a
submodule may not be fetched. Does no I/O.

The settings in a repository are not trusted, so only submodules on the host of the repository are fetched.
The user's token is used only for submodules that have the same owner as the repository. Otherwise a
repository could name the user's other private repositories as submodules, and the agent could read them.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, Self

from pydantic import BaseModel

from app_server.git.address import Address, InvalidRepository, parse_address

MAX_SUBMODULES = 50
# The URLs are written into a configuration file of git. Escapes and `..` could name another owner.
_PLAIN_URL = re.compile(r"(?!-)(?!.*/\.\.?(/|$))[!#$&-\[\]-~]{1,1000}")
_SETTING = re.compile(r"submodule\.(?P<name>.+)\.(?P<field>path|url)", re.DOTALL)


class KeptSubmodule(BaseModel):
    """A git submodule of a conversation's repository, as stored in the database.

    directory: the name of the directory into which the containing repository is checked out. path: the folder
    of the submodule, relative to this directory. repository: the submodule's URL. uses_token: whether the
    submodule is fetched with the user's token. reason: why the submodule is not fetched; null if it is
    fetched.
    """

    directory: str
    path: str
    repository: str
    uses_token: bool = False
    reason: str | None = None

    @classmethod
    def all_of(cls, stored: Iterable[Any]) -> list[Self]:
        """Returns the submodules of a conversation, read from their JSON values in the database."""
        return [cls.model_validate(one) for one in stored]


def submodules_in(settings: str, parent: Address, directory: str) -> list[KeptSubmodule]:
    """Returns the submodules that the `.gitmodules` file of a repository names, in the order of the file, at
    most MAX_SUBMODULES.

    settings: the content of `.gitmodules`, as `git config --list -z` prints it. parent: the address of the
    repository. directory: the name of the repository's directory.
    """
    named: dict[str, dict[str, str]] = {}
    for entry in settings.split("\0"):
        key, _, value = entry.partition("\n")
        if found := _SETTING.fullmatch(key):
            named.setdefault(found["name"], {}).setdefault(found["field"], value)
    submodules = []
    for name, fields in list(named.items())[:MAX_SUBMODULES]:
        path, url = fields.get("path", ""), fields.get("url", "")
        one = KeptSubmodule(directory=directory, path=path, repository=url)
        submodules.append(_judged(one, name, url, parent))
    return submodules


def words_about(submodules: Iterable[KeptSubmodule]) -> Iterator[str]:
    """Yields sentences that tell the user, in the messages about the start of the conversation, which
    submodules were fetched or not fetched.
    """
    every = list(submodules)
    if fetched := [one.path for one in every if one.reason is None]:
        yield f"Submodules: {', '.join(fetched)}"
    yield from (f"Without the submodule {one.path}: {one.reason}" for one in every if one.reason)


def _judged(one: KeptSubmodule, name: str, url: str, parent: Address) -> KeptSubmodule:
    shown = one.model_copy(update={"path": _printable(one.path), "repository": _printable(url)})
    if not _is_inside(name) or not _is_inside(one.path):
        return shown.model_copy(update={"reason": "its name or its path leaves the repository"})
    if parent.origin is None:
        return shown.model_copy(update={"reason": "a sandbox cannot reach the repository that names it"})
    address = _address_of(_absolute(url, parent))
    if address is None:
        return shown.model_copy(update={"reason": "its URL is not one of a git host"})
    if address.origin != parent.origin:
        return shown.model_copy(update={"reason": "it is on another host"})
    uses_token = _owner(address) == _owner(parent)
    return one.model_copy(update={"repository": address.public_url, "uses_token": uses_token})


def _address_of(url: str) -> Address | None:
    """Returns the parsed address of a submodule's URL. Returns None if the URL is not valid, is a file path
    on the machine of the app server, or contains a password.
    """
    if not _PLAIN_URL.fullmatch(url):
        return None
    try:
        address = parse_address(url)
    except InvalidRepository:
        return None
    return None if address.local_path is not None or address.has_credentials else address


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    is_plain = path.isprintable() and not path.startswith(("-", "/"))
    return bool(parts) and is_plain and not {"..", ".git"} & {part.lower() for part in parts}


def _absolute(url: str, parent: Address) -> str:
    """Returns the absolute form of a submodule's URL. As in git, a URL that begins with `./` or `../` is
    relative to the URL of the repository. `parent`: the address of the repository that contains the
    submodule.
    """
    if not url.startswith(("./", "../")):
        # A name such as owner/repo would be looked up at another host than the repository's.
        return url if "://" in url or re.match(r"[^/@]++@[^/:]++:", url) else ""
    base = parent.public_url.rstrip("/")
    while url.startswith(("./", "../")):
        first, _, url = url.partition("/")
        if first == "..":
            base = base.rpartition("/")[0]
    return f"{base}/{url}"


def _owner(address: Address) -> str:
    # At some hosts the first part of the path is the same for all owners.
    return address.identity.rpartition("/")[0].lower()


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)[:200]
