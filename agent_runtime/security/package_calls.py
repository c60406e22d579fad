"""What package managers fetch: by name from the index that is set up, or from elsewhere."""

import re

from agent_runtime.security.calls import Call
from agent_runtime.security.rule import of

MANAGERS = of("pip pip3 pipx uv npm pnpm yarn npx pnpx bunx bun gem cargo go poetry python python3 composer")
_ELSEWHERE = re.compile(
    r"(git\+|https?://|git://|ssh://|file:///|github:|gitlab:|git@)"
    r"|--(index-url|extra-index-url|find-links|trusted-host|registry|source|index|git|default-index)\b|^-[if]$|^-i\S"
    r"|^[\w.-]+/[\w.-]+#"
)
_INSTALLS = frozenset({"install", "i", "add", "ci", "download", "wheel", "exec", "x", "dlx"})
_FOR_ALL = of("-g --global --user --break-system-packages --location=global --target --prefix --root")
_CHANGES = of(
    "install remove purge autoremove upgrade dist-upgrade full-upgrade add del reinstall uninstall in rm"
)
_INDEX_KEYS = re.compile(r"(registry|index-url|trusted-host|extra-index-url|script-shell)\b", re.IGNORECASE)


def comes_from_elsewhere(call: Call, workspace: str) -> bool:
    del workspace
    if call.name in {"npm", "pnpm", "yarn", "pip", "pip3"} and call.texts[:1] == ["config"]:
        return "set" in call.texts and any(map(_INDEX_KEYS.search, call.texts))
    return _installs(call) and any(map(_ELSEWHERE.search, call.texts))


def changes_machine(call: Call, workspace: str) -> bool:
    del workspace
    return _installs(call) and (not _FOR_ALL.isdisjoint(call.texts) or call.texts[:1] == ["global"])


def _installs(call: Call) -> bool:
    if call.name.startswith("python") and call.texts[:2] not in (["-m", "pip"], ["-m", "pipx"]):
        return False
    return call.name in {"npx", "bunx", "pnpx"} or not _INSTALLS.isdisjoint(call.texts)


def manages_machine(call: Call, workspace: str) -> bool:
    """Lists and searches change nothing."""
    del workspace
    return call.has("-i", "-S", "-R", "--install", "-U", "-r") or not _CHANGES.isdisjoint(call.texts)
