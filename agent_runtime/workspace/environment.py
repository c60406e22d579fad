"""What commands run by an agent may know of the server's environment: an allow-list, nothing else.

The server's own environment may hold keys; a variable that nobody thought of must not reach a model.
"""

import os
import shutil
from collections.abc import Mapping

_WHO_AND_WHERE = ("HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_TOOL_CHAINS = ("CARGO_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "NODE_PATH", "NVM_DIR", "RUSTUP_HOME")
_SCREEN = ("DISPLAY", "PLAYWRIGHT_BROWSERS_PATH")
_NAMES = frozenset(
    (*_WHO_AND_WHERE, *_PROXIES, *map(str.upper, _PROXIES), *_CERTIFICATES, *_TOOL_CHAINS, *_SCREEN)
)
_PREFIXES = ("LC_", "XDG_")
# A pager would wait for a key that nobody presses.
_FIXED = {"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": ""}


def command_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a command of the agent; `extra` is added last."""
    allowed = {name: value for name, value in os.environ.items() if is_allowed(name)}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **allowed, **_FIXED, **(extra or {})}


def is_allowed(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)


def bash_path() -> str:
    return shutil.which("bash") or "/bin/bash"
