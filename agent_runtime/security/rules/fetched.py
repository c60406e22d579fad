"""Finds commands that run what an earlier command downloaded: downloaded files, cloned repositories, and
files that were copied or unpacked from downloaded ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_runtime.security.rules.network_effects import DOWNLOADERS, INTERPRETERS, upstream
from agent_runtime.security.rules.rule import of
from agent_runtime.security.shell.calls import SHELLS, Call
from agent_runtime.security.shell.words import Word

_WRITING = re.compile(r"\d*(>|>>|>\||&>|&>>)\Z")
_ADDRESS = re.compile(r"\w+://|[\w.-]+@[\w.-]+:|[\w.-]+\.[\w.-]+:")
_UNPACKERS = frozenset({"tar", "bsdtar", "unzip", "7z", "cpio", "gunzip", "unxz"})
_COPIES = frozenset({"cp", "mv", "ln", "install"})
# Programs that run files of the current directory, and the arguments with which they do so.
_BUILDERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), of("install i ci run test start build exec")),
    **dict.fromkeys(("pip", "pip3", "uv", "poetry", "bundle", "composer"), of("install sync run")),
    "cargo": of("build run test check bench install"),
    "go": of("run test generate"),
}
_BUILDS_ANYWAY = of("make gmake cmake ninja rake just mvn gradle tox pytest")
_INLINE_USUAL = ("-c", "-e", "-E", "-p", "-r", "--eval", "--version")
_INLINE = dict.fromkeys(SHELLS, ("-c", "--version"))
_ATTACHED = re.compile(r"(?:-[A-Za-z]*[oO]|--output(?:-document)?=)(.+)", re.DOTALL)
_EXTRACTS = re.compile(r"(--?\w+ )*(-?[A-Za-z]*x|--(ext|get))")
_INTO = frozenset({"-C", "--directory", "-d"})


@dataclass
class _Fetched:
    """The files and directories that earlier commands have downloaded or unpacked. `files`: file names
    without directories. `trees`: absolute paths of directories such as cloned repositories; everything below
    them counts as downloaded.

    `unpacked`: absolute paths of the current directories in which commands have unpacked an archive without
    naming a target directory. Such a directory may also contain other files, which were there before. So only
    files in its subdirectories count as downloaded, and not the files directly in it.
    """

    files: set[str] = field(default_factory=set)
    trees: set[str] = field(default_factory=set)
    unpacked: set[str] = field(default_factory=set)

    def has(self, path: str | None) -> bool:
        if path is None:
            return False
        return any(path == one or path.startswith(f"{one}/") for one in self.trees) or any(
            path.startswith(f"{one}/") and "/" in path.removeprefix(f"{one}/") for one in self.unpacked
        )


def runs_fetched_files(calls: Sequence[Call]) -> bool:
    """Returns whether a command runs what an earlier command downloaded, as in `curl -o x …; sh x` or `git
    clone … && ./y/install.sh`.
    """
    fetched = _Fetched()
    for call in calls:
        if _runs(call, fetched):
            return True
        _note(call, fetched)
    return False


def _runs(call: Call, fetched: _Fetched) -> bool:
    programs = [word for word in call.command.words if word.text.endswith(f"/{call.name}")]
    if call.name in INTERPRETERS | {"source", "."} and not call.has(*_INLINE.get(call.name, _INLINE_USUAL)):
        programs += call.operands[:1]
    if any(_name(word.text) in fetched.files or fetched.has(call.path(word)) for word in programs):
        return True
    if call.name not in _BUILDS_ANYWAY and _BUILDERS.get(call.name, frozenset()).isdisjoint(call.texts):
        return False
    here = call.path(Word("any file"))
    return fetched.has(here) or any(fetched.has(call.path(word)) for word in call.operands)


def _note(call: Call, fetched: _Fetched) -> None:
    fetched.trees |= {path for word in _cloned(call) if (path := call.path(word))}
    is_fetched = not DOWNLOADERS.isdisjoint((call.name, *(one.name for one in upstream(call.command))))
    if call.name in DOWNLOADERS:
        names = [word.text for word in call.operands]
        names += [match[1] for text in call.texts if (match := _ATTACHED.fullmatch(text))]
        fetched.files |= {_name(re.sub(r"[?#].*", "", one)) for one in names} - {"", "-"}
    elif not is_fetched and fetched.files.isdisjoint(_name(word.text) for word in call.operands):
        return
    fetched.files |= {_name(one.target.text) for one in call.redirects if _WRITING.match(one.operator)}
    if call.name in _COPIES or call.name == "tee":
        fetched.files |= {_name(word.text) for word in call.operands}
    elif call.name in _UNPACKERS and (call.name != "tar" or _EXTRACTS.match(" ".join(call.texts))):
        _unpack(call, fetched)


def _unpack(call: Call, fetched: _Fetched) -> None:
    for at, word in enumerate(call.arguments):
        if word.text in _INTO and (path := next(map(call.path, call.arguments[at + 1 : at + 2]), None)):
            fetched.trees.add(path)
            return
    if call.directory:
        fetched.unpacked.add(call.directory)


def _cloned(call: Call) -> list[Word]:
    """Returns the directories into which a `git clone` or similar command may clone a repository."""
    texts = [word.text for word in call.operands]
    if "clone" not in texts[:3]:
        return []
    words = call.operands[texts.index("clone") + 1 :]
    if call.name not in {"gh", "glab", "hub"}:
        is_address = [bool(_ADDRESS.match(word.text)) for word in words]
        words = words[is_address.index(True) :] if call.name == "git" and True in is_address else []
    stems = [Word(re.split(r"[/:]", word.text.rstrip("/"))[-1].removesuffix(".git")) for word in words[:1]]
    return [*stems, *words[1:]]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
