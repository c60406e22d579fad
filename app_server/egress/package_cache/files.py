"""Decides which requests are for package files that never change, and how long the replies may be cached.

Does no I/O, except that it reads the list of package hosts from a file once.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path

import h11

from app_server.core.addresses import HostRule, parse_rule
from app_server.core.database import now
from app_server.egress.client_connection import ProxyRequest

DEFAULT_SECONDS = 30 * 24 * 3600.0
LONGEST_SECONDS = 365 * 24 * 3600.0

Headers = Iterable[tuple[bytes, bytes]]

# The paths of package files on hosts that an administrator has named: the file name contains a version and
# has an ending of packages. Programs in sandboxes choose the paths, so the patterns of paths take a time that
# grows linearly with the path.
_MAX_PATH_CHARACTERS = 1024
_VERSIONED = re.compile(
    r"/(?>(?:[^/]*+/)*)(?=[^/]*?[-_@]v?\d)[^/]*\.(?:whl|whl\.metadata|tar\.gz|tar\.bz2|tar\.xz|tgz|zip|u?deb|crate|gem)"
)
# The headers that a request for a package may have. Another header may be a credential, or may change the
# reply.
_HARMLESS = frozenset(
    b"accept accept-encoding accept-language cache-control connection host if-modified-since if-none-match "
    b"keep-alive pragma priority proxy-authorization proxy-connection te user-agent".split()
)
_HARMLESS_OF_NPM = re.compile(rb"npm-(auth-type|command|in-ci|scope|session)|pacote-[a-z-]+|sec-fetch-[a-z]+")
_MAX_AGE = re.compile(r"max-age=\"?(\d{1,12})")


@dataclass(frozen=True)
class _Registry:
    hosts: Sequence[HostRule]
    path: re.Pattern[str]


class PackageFiles:
    """The hosts that serve package files, and the patterns of the paths of these files. named: hosts that an
    administrator has added to the built-in ones.
    """

    def __init__(self, named: Sequence[str] = ()) -> None:
        own = _Registry([parse_rule(host) for host in named], _VERSIONED)
        self._registries = (*_known(), own)

    def knows(self, host: str, port: int) -> bool:
        """Returns whether this host and port serve package files."""
        return any(rule.permits(host, port) for each in self._registries for rule in each.hosts)

    def holds(self, host: str, port: int, path: str) -> bool:
        """Returns whether the file at this path on this host is a package file that never changes. A path
        with more than 1024 characters is not one.
        """
        if len(path) > _MAX_PATH_CHARACTERS:
            return False
        return any(
            any(rule.permits(host, port) for rule in each.hosts) and each.path.fullmatch(path)
            for each in self._registries
        )


def is_plain(asked: ProxyRequest, replaced: str | None) -> bool:
    """Returns whether the headers and the method of a request allow its reply to be cached. The request must
    be a GET request, and all its headers must be known to leave the content of the reply unchanged, such as
    User-Agent.

    replaced: the name of the header in which the egress proxy sets a credential; None if it sets none. This
    header is not checked, because the proxy replaces its value.
    """
    names = {name for name, _ in asked.request.headers} - {(replaced or "").encode()}
    return asked.request.method == b"GET" and all(
        name in _HARMLESS or _HARMLESS_OF_NPM.fullmatch(name) for name in names
    )


def forbids_caching(asked: ProxyRequest) -> bool:
    return "no-store" in _directives(asked.request.headers)


def wants_new(asked: ProxyRequest) -> bool:
    """Returns whether the program in the sandbox requires a new reply from the host (`Cache-Control:
    no-cache` or `max-age=0`).
    """
    return bool({"no-cache", "max-age=0"} & _directives(asked.request.headers))


def cacheable_seconds(response: h11.Response) -> float | None:
    """Returns the number of seconds for which a reply may be cached, at most LONGEST_SECONDS. Returns None if
    the reply must not be cached.
    """
    headers, directives = dict(response.headers), _directives(response.headers)
    if response.status_code != 200 or {"no-store", "private", "no-cache"} & {
        each.partition("=")[0] for each in directives
    }:
        return None
    encoding = headers.get(b"content-encoding", b"identity").lower()
    if encoding != b"identity" or b"*" in headers.get(b"vary", b"") or b"content-range" in headers:
        return None
    given = [int(found[1]) for each in directives if (found := _MAX_AGE.fullmatch(each))]
    seconds = float(min(given)) if given else _until(headers.get(b"expires"))
    return min(seconds, LONGEST_SECONDS) if seconds > 0 else None


def length_of(response: h11.Response) -> int | None:
    """Returns the length of the reply's body in bytes from its Content-Length header. Returns None if there
    is no such header. A reply without this header is not cached, because the cache could not detect that the
    body is incomplete.
    """
    said = dict(response.headers).get(b"content-length", b"")
    return int(said) if said.isdigit() else None


def _directives(headers: Headers) -> set[str]:
    texts = [
        value.decode("latin-1").lower() for name, value in headers if name in {b"cache-control", b"pragma"}
    ]
    return {part.strip() for text in texts for part in text.split(",")} - {""}


def _until(expires: bytes | None) -> float:
    if expires is None:
        return DEFAULT_SECONDS
    try:
        moment = parsedate_to_datetime(expires.decode("latin-1"))
        return (moment - now()).total_seconds()
    except (ValueError, TypeError):
        return 0.0  # HTTP regards an invalid date as a time in the past


@cache
def _known() -> tuple[_Registry, ...]:
    groups = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text())
    return tuple(
        _Registry([parse_rule(host) for host in group["hosts"]], re.compile(group["path"]))
        for group in groups.values()
    )
