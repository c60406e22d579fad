"""What the agent server is told by its environment, read once at start."""

import ctypes
import logging
import os
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

_KEY_PREFIX = "OH_SESSION_API_KEYS_"
_OLD_KEY = "SESSION_API_KEY"
_PR_SET_DUMPABLE = 4


class ConfigError(Exception):
    """A variable has a value that cannot be used. The text names it."""


@dataclass(frozen=True)
class Config:
    """session_keys: any of them opens the door; none means that it stands open.

    report_url: where conversations are reported to; None for nowhere.
    """

    conversations_path: Path
    workspace_path: Path
    session_keys: tuple[str, ...] = ()
    report_url: str | None = None

    def credential_for(self, url: str) -> str | None:
        """The session key for what lies on the app server's origin; nothing for any other place."""
        if self.report_url is None or not self.session_keys or _origin(url) != _origin(self.report_url):
            return None
        return self.session_keys[0]


def read_config(environment: MutableMapping[str, str]) -> Config:
    """The configuration in these variables. Keys are taken out: what runs here later must not inherit one.

    ConfigError when a value cannot be used.
    """
    return Config(
        session_keys=_take_keys(environment),
        conversations_path=_path(environment, "OH_CONVERSATIONS_PATH", "workspace/conversations"),
        workspace_path=_path(environment, "OH_WORKSPACE_PATH", "workspace/project"),
        report_url=_url(environment, "OH_WEBHOOKS_0_BASE_URL"),
    )


def hide_from_own_user() -> None:
    """Closes /proc/<pid>/environ and memory to other processes of the same user: the agent's commands.

    The environment a process was started with stays readable there, whatever is removed from it later.
    """
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        logger.warning("the environment stays readable", extra={"errno": ctypes.get_errno()})


def from_environment() -> Config:
    """The configuration of this process."""
    return read_config(os.environ)


def _take_keys(environment: MutableMapping[str, str]) -> tuple[str, ...]:
    numbered = sorted(
        (name for name in environment if name.startswith(_KEY_PREFIX)),
        key=lambda name: (len(name), name),
    )
    taken = [environment.pop(name) for name in (*numbered, _OLD_KEY) if name in environment]
    return tuple(dict.fromkeys(key for key in taken if key))


def _path(environment: MutableMapping[str, str], name: str, default: str) -> Path:
    return Path(environment.get(name) or default).absolute()


def _url(environment: MutableMapping[str, str], name: str) -> str | None:
    value = environment.get(name, "").rstrip("/")
    if not value:
        return None
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{name} must be an http(s) URL, not {value!r}.")
    return value


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
