"""Checks which URLs the browser may open: web pages, and files of the workspace."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent_runtime.workspace.local import PathNotAllowedError, confine

MAX_ADDRESS_CHARS = 100_000
_WEB = {"http", "https"}
_HARMLESS = {"data"}
"""URL schemes, besides http, https and file, that the browser may open. The content of such a page is in its
URL. The page belongs to no website, so it has no access to the data of websites or to files.
"""


class AddressError(Exception):
    """The error that is raised when a URL is not valid or may not be opened. The text is for the model."""


def admit(given: str, roots: Sequence[Path]) -> str:
    """Checks whether the browser may open the URL `given`, and returns the URL. If it has no scheme, adds
    `http://` in front for a host on this machine, and `https://` for other hosts.

    `roots`: the directories whose files the browser may open with `file:` URLs. Raises AddressError if the
    URL is not valid or the browser may not open it.
    """
    address = given.strip()
    if len(address) > MAX_ADDRESS_CHARS:
        raise AddressError("The address is too long.")
    if address == "about:blank":
        return address
    if "://" not in address and not address.lower().startswith(("data:", "javascript:", "view-source:")):
        address = f"{'http' if _is_local(address) else 'https'}://{address}"
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        raise AddressError(f"{given!r} is no address: {error}.") from error
    scheme = parts.scheme.lower()
    if scheme == "file":
        _admit_file(address, roots)
    elif scheme in _WEB and not host:
        raise AddressError(f"{given!r} is no address: it names no host.")
    elif scheme not in _WEB | _HARMLESS:
        raise AddressError(
            f"Addresses that begin with `{scheme}:` cannot be opened here. Open pages of the web "
            "(http, https), or files of the workspace (file)."
        )
    return address


def is_admitted_file(address: str, roots: Sequence[Path]) -> bool:
    """Returns whether the browser may read the file of this URL. The file must be inside one of the
    directories `roots` after all symbolic links are resolved.
    """
    try:
        _admit_file(address, roots)
    except AddressError:
        return False
    return True


def _admit_file(address: str, roots: Sequence[Path]) -> None:
    parts = urlsplit(address)
    if parts.netloc not in {"", "localhost"}:
        raise AddressError(f"{address[:500]} cannot be opened: it names another machine.")
    try:
        confine(unquote(parts.path), roots)
    except PathNotAllowedError as error:
        raise AddressError(f"{address[:500]} cannot be opened: {error}") from error


def _is_local(address: str) -> bool:
    host = address.split("/", 1)[0].rsplit(":", 1)[0]
    return host in {"localhost", "[::1]"} or host.startswith("127.") or host.endswith(".localhost")
