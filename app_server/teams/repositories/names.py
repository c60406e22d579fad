"""Converts the names of repositories into keys that can be compared. The functions here do no I/O.

Different addresses of one repository have the same key. The key does not depend on upper and lower case,
ports, escapes, `www.`, and the known alternative host names of GitHub, GitLab and Bitbucket. Alternative
names of other hosts are not recognised.
"""

import re
import unicodedata
from collections.abc import Sequence
from types import MappingProxyType
from urllib.parse import unquote

from app_server.core.errors import BadRequest
from app_server.teams.repositories.models import MAX_KEY_CHARACTERS

_SECOND_NAMES = MappingProxyType(
    {
        "ssh.github.com": "github.com",
        "altssh.gitlab.com": "gitlab.com",
        "altssh.bitbucket.org": "bitbucket.org",
    }
)
_HOST = re.compile(r"^(?:[a-z0-9_-]+\.)+[a-z0-9_-]+$|^\[[0-9a-f:.]+\]$|^localhost$")


def key_of(identity: str) -> str | None:
    """Returns the key of a repository, which is used to find the team that owns the repository. Returns None
    for a repository on the app server's disk, because such a repository belongs to no team.

    `identity`: `host/owner/name`, see `Address.identity`.
    """
    if identity.startswith("/"):
        return None
    host, _, path = identity.partition("/")
    # git and its HTTP library read escapes, wide letters and other full stops as the usual characters.
    host = unicodedata.normalize("NFKC", unquote(host)).replace("\u3002", ".")
    host = re.sub(r":[0-9]*$", "", host.casefold()).rstrip(".").removeprefix("www.")
    host = _SECOND_NAMES.get(host, host)
    parts: list[str] = []
    for part in unquote(path).casefold().split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    if host == "ssh.dev.azure.com" and len(parts) == 4:
        host, parts = "dev.azure.com", [parts[1], parts[2], "_git", parts[3]]
    return f"{host}/{'/'.join(parts).removesuffix('.git')}"


def keys_that_cover(key: str) -> Sequence[str]:
    """Returns the keys of all possible list entries that match a repository: its full name, and each pattern
    that matches this name. A caller searches the teams' lists for these keys, to find the team that owns the
    repository.

    `key`: the key of the repository. The most specific entry comes first. For `host/a/b`, the result is
    `host/a/b`, `host/a/b*`, `host/a/*` and `host/a*`. There is one pattern for each character after the host.
    """
    start = key.index("/") + 1
    return [key, *(f"{key[:end]}*" for end in range(len(key), start, -1))]


def key_of_entry(name: str) -> str:
    """Returns the key for a text that a user enters in the list of a team's repositories. The text is
    `host/owner/name`, or the beginning of such a name followed by `*`. The owner must be complete.

    Raises BadRequest `repository_name_wrong` if the text has another form.
    """
    text = name.strip()
    beginning = text.removesuffix("*")
    is_pattern = beginning != text
    found = None if "*" in beginning or "://" in text else key_of(beginning)
    if found is None or len(found) >= MAX_KEY_CHARACTERS:
        raise _wrong(name)
    if is_pattern and beginning.endswith(("/", ".git")):
        # Here the end of the text is the end of a beginning, so nothing may be cut off.
        found += "/" if beginning.endswith("/") else ".git"
    host, _, path = found.partition("/")
    owner, slash, rest = path.partition("/")
    if not (_HOST.match(host) and owner and slash and (rest or is_pattern)):
        raise _wrong(name)
    return f"{found}*" if is_pattern else found


def _wrong(name: str) -> BadRequest:
    return BadRequest(
        f"{name.strip()[:100]!r} names no repository of a git host.",
        code="repository_name_wrong",
        fix="Write host/owner/name, as github.com/acme/shop, or a beginning with * at the end, as "
        "github.com/acme/payments-*.",
    )
