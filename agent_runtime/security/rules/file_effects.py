"""Contains functions that the table of security rules uses. The functions check which files a command
deletes, reads or writes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agent_runtime.security import path_policy
from agent_runtime.security.rules.rule import of
from agent_runtime.security.shell.calls import Call
from agent_runtime.security.shell.words import Word

_WRITES_ALL = of("tee touch mkdir truncate chmod chown chgrp mkfifo setfacl chattr mv patch")
_WRITES_LAST = frozenset(("cp", "install", "ln", "rsync", "split"))
# Options that name a place to write to.
_TARGET_OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cp", "mv", "ln", "install"), ("-t", "--target-directory")),
    "curl": ("-o", "--output", "--output-dir", "-D"),
    "wget": ("-O", "-P", "--output-document", "--directory-prefix", "-o"),
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "sort": ("-o", "--output"),
    "strace": ("-o", "--output"),
    "aria2c": ("-d", "--dir", "-o", "--out"),
    "find": ("-fprint", "-fprint0", "-fprintf", "-fls"),
}
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_RECURSIVE = ("-r", "-R", "--recursive")
_REMOTE = re.compile(r"([\w.-]+@)?[\w.-]+:|\w+://")


def deletes_tree(call: Call, workspace: str) -> bool:
    """Returns whether the command recursively deletes a directory such as the workspace or a home directory
    (see `is_whole_tree`), or a temporary directory such as /tmp.
    """
    if not call.has(*_RECURSIVE):
        return False
    paths = [_without_glob(path) for path in _paths(call, call.operands) if path]
    return any(
        path_policy.is_whole_tree(path, workspace) or path_policy.is_scratch_root(path) for path in paths
    )


def deletes_unknown(call: Call, workspace: str) -> bool:
    del workspace
    return call.has(*_RECURSIVE) and None in _paths(call, call.operands)


def deletes_outside(call: Call, workspace: str) -> bool:
    return _is_any_outside(call, call.operands, workspace)


def deletes_in_container(call: Call, workspace: str) -> bool:
    """Returns whether the command deletes files in a container other than the one in which the agent runs, as
    in `docker exec web rm -r /data`. Only deleting recursively (`rm -r`) and irrecoverably (`shred`, `srm`)
    counts. Deleting files in a temporary directory of that container does not count.
    """
    del workspace
    if not call.in_container or not (call.has(*_RECURSIVE) or call.name in {"shred", "srm"}):
        return False
    return any(path and not path_policy.is_scratch(path) for path in _paths(call, call.operands))


def finds_and_deletes(call: Call, workspace: str) -> bool:
    if "-delete" not in call.texts:
        return False
    starts = call.operands[:1]
    paths = [path for path in _paths(call, starts) if path]
    narrows = any(text in {"-name", "-iname", "-path", "-regex", "-mtime", "-empty"} for text in call.texts)
    return _is_any_outside(call, starts, workspace) or (
        not narrows and any(path_policy.is_whole_tree(path, workspace) for path in paths)
    )


def writes_outside(call: Call, workspace: str) -> bool:
    return _is_any_outside(call, _written(call), workspace)


def _written(call: Call) -> list[Word]:
    written = [one.target for one in call.redirects if one.operator in _WRITING]
    if call.name in _WRITES_ALL:
        written += call.operands
    elif call.name in _WRITES_LAST:
        written += call.operands[-1:]
    elif call.name in {"sed", "perl", "ruby"} and _edits_in_place(call):
        written += call.operands[1:]
    elif call.name == "git" and "clone" in call.texts:
        written += call.operands[2:]
    elif call.name in {"docker", "podman", "nerdctl"} and call.texts[:1] == ["cp"]:
        written += call.operands[-1:]
    return [*written, *_targets(call), *_dd_targets(call)]


def _edits_in_place(call: Call) -> bool:
    return any(re.match(r"-[a-zA-Z]*i|--in-place", text) for text in call.texts)


def _targets(call: Call) -> Iterator[Word]:
    options = _TARGET_OPTIONS.get(call.name, ())
    for at, word in enumerate(call.arguments):
        if word.text in options:
            yield from call.arguments[at + 1 : at + 2]
        elif word.text.partition("=")[0] in options:
            yield replace(word, text=word.text.partition("=")[2])


def writes_hooks(call: Call, workspace: str) -> bool:
    del workspace
    return any(path_policy.runs_later(path) for path in _paths(call, _written(call)) if path)


def overwrites_device(call: Call, workspace: str) -> bool:
    del workspace
    targets = [one.target for one in call.redirects if one.operator in _WRITING] + _dd_targets(call)
    if call.name in {"tee", "cp", "mv", "shred", "wipefs", "blkdiscard"}:
        targets += call.operands
    return any(path_policy.is_device(word.text) for word in targets)


def reads_credentials(call: Call, workspace: str) -> bool:
    """Returns whether an argument or a redirect names a file with credentials. The file name may also be
    inside an option or an upload, as in `-F file=@~/.ssh/id_rsa`.
    """
    del workspace
    words = [*call.arguments, *(one.target for one in call.redirects)]
    if call.name in {"grep", "rg", "ag", "ack"} and not call.has("-f", "--file"):
        words = [word for word in words if word not in call.operands[:1]]
    if call.name in {"echo", "printf"}:
        words = [word for word in words if not word.text.startswith(".")]  # texts to look for or to print
    texts = [call.path(word) or word.text for word in words]
    texts += [re.split(r"[=@<]|^file://|^-[A-Za-z](?=[/~])", word.text)[-1] for word in words]
    return any(map(path_policy.is_credential, texts))


def gives_all_rights(call: Call, workspace: str) -> bool:
    del workspace
    modes = call.texts[:3]
    return any(re.fullmatch(r"[0-7]?[4267][0-7]{3}|[ugoa]*[+=][rwx]*s[rwx]*", mode) for mode in modes)


def _is_any_outside(call: Call, words: list[Word], workspace: str) -> bool:
    paths = [path for path in _paths(call, words) if path]
    return any(not path_policy.is_inside(path, workspace) for path in paths)


def _paths(call: Call, words: list[Word]) -> list[str | None]:
    """Returns the paths on this machine that the words name, one item per word. An item is None if its path
    is only known when the command runs. Words that are a remote address, a number (file descriptor) or `-`
    have no item.
    """
    return [
        call.path(word)
        for word in words
        if not _REMOTE.match(word.text) and not (word.text.isdigit() or word.text == "-")
    ]


def _dd_targets(call: Call) -> list[Word]:
    return [Word(text[3:]) for text in call.texts if text.startswith("of=")] if call.name == "dd" else []


def _without_glob(path: str) -> str:
    """Returns the path without a pattern such as `/*` at its end, because deleting `x/*` deletes as much as
    deleting `x`. Returns `/` if nothing is left. Returns a path without such a pattern unchanged.
    """
    return re.sub(r"/(\.?\*|\.\[.*|\{.*)$", "", path) or "/"
