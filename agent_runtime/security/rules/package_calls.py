"""Contains functions that the table of security rules uses. The functions check from where package managers
download packages, and in which directories package managers install packages.
"""

import re
from collections.abc import Iterator

from agent_runtime.security.rules.environment import assignments
from agent_runtime.security.rules.rule import of
from agent_runtime.security.shell.calls import Call

MANAGERS = of(
    "pip pip3 pipx uv uvx npm pnpm yarn npx pnpx bunx bun gem cargo go poetry python python3 composer"
)
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
_INDEX_VARIABLES = re.compile(
    r"npm_config_(registry|(user|global)config)|pip_((extra_)?index_url|find_links|trusted_host|config_file)"
    r"|uv_((extra_|default_)?index(_url)?|find_links|config_file)|yarn_(npm_registry_server|registry)"
    r"|goproxy|gonosumdb|gonosumcheck|goinsecure|gem_host|bundle_mirror\w*",
    re.IGNORECASE,
)
_RUNS_PACKAGES = {
    "npm": [["exec"], ["x"]],
    "uv": [["tool", "run"]],
    "pipx": [["run"]],
    "pnpm": [["dlx"]],
    "yarn": [["dlx"]],
    "bun": [["x"]],
}
_PACKAGE_OPTIONS = of("--from --with --spec -p --package")
_OTHER_OPTIONS = of(
    "--registry --index-url -i --index --default-index --extra-index-url --find-links -f --python -p --cache"
    " --directory --project --env-file --prefix --with-requirements --pip-args --allow-build -c --call"
)
_PACKAGE_ADDRESS = re.compile(
    r"(^|@\s*)(git\+|https?://|git://|ssh://|git@)|^(github|gitlab|bitbucket|gist):|^\w[\w.-]*/[\w.-]+(#|$)"
)
_MODULE = re.compile(r"[\w-]+(\.[\w-]+)+/\S*@\S")
_PROGRAM_ADDRESS = re.compile(r"https?://")
_USUAL_INDEX = re.compile(r"((direct|off)(,|\||\Z))*\Z")


def comes_from_elsewhere(call: Call, workspace: str) -> bool:
    del workspace
    words = [word.text for word in call.operands]
    if call.name in {"npm", "pnpm", "yarn", "pip", "pip3"} and words[:1] in (["config"], ["set"]):
        return "set" in words and any(map(_INDEX_KEYS.search, words))
    if call.name == "gem" and words[:1] == ["sources"]:
        return call.has("-a", "--add")
    return _installs(call) and any(map(_ELSEWHERE.search, call.texts))


def runs_address(call: Call, workspace: str) -> bool:
    """Returns whether the command runs code from an internet address, as in `go run x.example/y@latest` or
    `deno run https://x.example/y.ts`.
    """
    del workspace
    words = [word.text for word in call.operands]
    if call.name == "go":
        return words[:1] == ["run"] and any(map(_MODULE.match, words[1:]))
    return any(map(_PROGRAM_ADDRESS.match, words[:2]))


def runs_package(call: Call, workspace: str) -> bool:
    """Returns whether the command runs a package and downloads the package first if it is missing, as `npx
    -y` and `uvx` do.
    """
    del workspace
    words = [word.text for word in call.operands]
    if call.name in {"npx", "npm"} and not call.has("-y", "--yes", "-p", "--package"):
        return False  # asks, or runs what the project has installed
    if call.name == "deno":
        return any(word.startswith(("npm:", "jsr:")) for word in words[:2])
    begins = _RUNS_PACKAGES.get(call.name)
    return bool(words) if begins is None else any(words[: len(one)] == one for one in begins)


def runs_package_of_address(call: Call, workspace: str) -> bool:
    """Returns whether the command runs a package from an address and not from a registry, as in `uvx --from
    git+https://…` and `npx github:x/y`.
    """
    del workspace
    return any(map(_PACKAGE_ADDRESS.search, _packages_run(call)))


def _packages_run(call: Call) -> Iterator[str]:
    """Yields the packages whose programs a command such as `npx` or `uvx` runs. The words after the first
    package are arguments of the package's program, so they are left out.
    """
    words = [word.text for word in call.operands]
    begins = [*_RUNS_PACKAGES.get(call.name, [[]]), *([["run"]] if call.name == "uv" else [])]
    verbs = next((one for one in begins if words[: len(one)] == one), None)
    if verbs is None:
        return
    remaining_verbs, texts = list(verbs), iter(call.texts)
    for text in texts:
        option, _, value = text.partition("=")
        if option in _PACKAGE_OPTIONS and not (option == "-p" and call.name in {"uv", "uvx"}):
            yield value or next(texts, "")
        elif option in _OTHER_OPTIONS and not value:
            next(texts, "")
        elif text in remaining_verbs:
            remaining_verbs.remove(text)
        elif not text.startswith("-"):
            yield text
            return


def sets_index(call: Call, workspace: str) -> bool:
    del workspace
    return any(
        _INDEX_VARIABLES.fullmatch(name) and not _USUAL_INDEX.match(value)
        for name, value in assignments(call)
    )


def changes_machine(call: Call, workspace: str) -> bool:
    del workspace
    return _installs(call) and (not _FOR_ALL.isdisjoint(call.texts) or call.texts[:1] == ["global"])


def _installs(call: Call) -> bool:
    if call.name.startswith("python") and call.texts[:2] not in (["-m", "pip"], ["-m", "pipx"]):
        return False
    return call.name in {"npx", "bunx", "pnpx", "uvx"} or not _INSTALLS.isdisjoint(call.texts)


def manages_machine(call: Call, workspace: str) -> bool:
    """Returns whether the command installs, changes or removes packages of the operating system. A command
    that only lists or searches packages does not count.
    """
    del workspace
    return call.has("-i", "-S", "-R", "--install", "-U", "-r") or not _CHANGES.isdisjoint(call.texts)
