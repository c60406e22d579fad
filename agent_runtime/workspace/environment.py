"""Determines the environment variables that commands of an agent get. Only variables in a list of allowed
names are passed on.

The server's environment may contain keys. An unknown variable could be a key and must not reach a model.
"""

import os
import shutil
from collections.abc import Mapping
from uuid import UUID

_WHO_AND_WHERE = ("HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
_PROXIED = ("http_proxy", "https_proxy")
_NEAR = "localhost,127.0.0.1,::1"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_TOOL_CHAINS = ("CARGO_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "NODE_PATH", "NVM_DIR", "RUSTUP_HOME")
_GIT = ("GIT_CONFIG_SYSTEM",)
_SCREEN = ("DISPLAY", "XAUTHORITY", "PLAYWRIGHT_BROWSERS_PATH")
BELONGS_TO = "SLIPWAY_BELONGS_TO"
"""The environment variable that identifies the agent server from which a process comes, even if all processes
between the server and this process have ended.
"""
OF_CONVERSATION = "SLIPWAY_CONVERSATION_ID"
"""The environment variable with the id of the conversation for which a process works. The variable is still
set if the process has moved to another process session or to the background.
"""
MODELS_URL = "SLIPWAY_MODELS_URL"
"""The environment variable with the URL at which programs can make model calls if they have a key for this.
"""
AUTHORITY = "SLIPWAY_EGRESS_AUTHORITY"
"""The environment variable with the path of a certificate file: the certificate authority of the egress
proxy. The proxy adds credentials to requests to some hosts, and signs the TLS certificates that it shows for
these hosts with this authority.
"""

_NAMES = frozenset(
    (
        BELONGS_TO,
        *_WHO_AND_WHERE,
        *_PROXIES,
        *map(str.upper, _PROXIES),
        *_CERTIFICATES,
        *_TOOL_CHAINS,
        *_GIT,
        *_SCREEN,
    )
)
_PREFIXES = ("LC_", "XDG_")
# A pager would wait for a key, and git for a password. npm would ask the public registry
# for a newer npm, whichever registry is meant: an unwanted call, which would be listed as refused.
_FIXED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "GIT_TERMINAL_PROMPT": "0",
    "npm_config_update_notifier": "false",
}
_additional: dict[str, str] = {}
_way_out: dict[str, str] = {}
_trusted: dict[str, str] = {}
_models: dict[str, str] = {}


def command_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment for a command of the agent. The variables in `extra` are added last and replace
    variables with the same names.
    """
    allowed = {name: value for name, value in os.environ.items() if is_allowed(name)}
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **allowed,
        **_with_additional_path(allowed),
        **_way_out,
        **_trusted,
        **_models,
        **_FIXED,
        **(extra or {}),
    }


def set_additional_variables(variables: Mapping[str, str]) -> None:
    """Sets additional environment variables for commands of the agent. Variables from an earlier call of this
    function are removed. If `variables` contains PATH, this value is put in front of the agent server's PATH.
    """
    _additional.clear()
    _additional.update(variables)


def _with_additional_path(allowed: Mapping[str, str]) -> dict[str, str]:
    first = (
        {"PATH": f"{_additional['PATH']}:{allowed.get('PATH', os.defpath)}"} if "PATH" in _additional else {}
    )
    return {**_additional, **first}


def set_way_out(proxy_url: str | None) -> None:
    """Sets the proxy through which commands of the agent reach the network; None means no proxy. Requests to
    addresses of this machine, and requests of the server itself, do not use the proxy.
    """
    _way_out.clear()
    if proxy_url is not None:
        _way_out.update(dict.fromkeys((*_PROXIED, *map(str.upper, _PROXIED)), proxy_url))
        _way_out.update(no_proxy=_NEAR, NO_PROXY=_NEAR, NODE_USE_ENV_PROXY="1")


def set_trusted(variables: Mapping[str, str]) -> None:
    """Sets the environment variables by which commands find the TLS certificates that they trust.
    `variables`: the names and values. Variables from an earlier call of this function are removed.
    """
    _trusted.clear()
    _trusted.update(variables)


def set_models_url(url: str | None) -> None:
    """Sets the URL at which commands of the agent reach the models; None means that commands have no access
    to models.
    """
    _models.clear()
    if url is not None:
        _models[MODELS_URL] = url


def conversation_of(variables: Mapping[str, str]) -> UUID | None:
    """Returns the id of the conversation whose agent started a process with these environment variables.
    Returns None if the variables contain no conversation id. Do not trust the result: a program can set any
    value when it starts another program.
    """
    try:
        return UUID(variables.get(OF_CONVERSATION, ""))
    except ValueError:
        return None


def is_allowed(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)


def bash_path() -> str:
    return shutil.which("bash") or "/bin/bash"
