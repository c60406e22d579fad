"""Contains functions that the table of security rules uses. The functions find arguments that make a program
run code or other programs, such as `tar --checkpoint-action`, the command `e` of `sed`, or `python -c`.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from agent_runtime.security.rules.inline_code import can_harm
from agent_runtime.security.shell.calls import Call
from agent_runtime.security.shell.makefiles import makefiles_of
from agent_runtime.security.shell.texts import fed_text

_INTERPRETER = re.compile(
    r"((python|pypy|perl|ruby|node|nodejs|php|lua|deno|bun|julia|Rscript|groovy|tclsh)[\d.]*|R)\Z"
)

_PROGRAM_OPTION = re.compile(r"-[A-Za-z]*[ceErRpn]|--(eval|print|run|expression)(=|\Z)|eval\Z")
# A sed substitution whose result is run, with any separator: `s|a|b|e`.
_SED_PART = r"(?:\\.|(?!(?P=sign))[^\\])*(?P=sign)"
_SED_RUNS = rf"(^|[;{{}}\d$/=\s])s(?P<sign>[^\w\s]|_){_SED_PART}{_SED_PART}[gpiImM\d]*e"
_ESCAPES = {
    "awk": r"^(-l|--load)|\bsystem\s*\(|\bprintf?\b[^;}\n]*(?<!\|)\|\s*[A-Za-z_]"
    r"|\|\s*\"|\|\s*getline|>\s*\"/(?!dev/|tmp/)|\bENVIRON\b|/inet/|@load",
    "sed": r"(^|[;{}\d$/])\s*e(\s|\Z)|(^|[;\s\d/])[wr]\s+/" + f"|{_SED_RUNS}",
    "vim": r"!|\bsystem\(|:py|^\+?:?(sh(ell)?|lua|term(inal)?|py\w*|perl|ruby|tcl)(\s|\Z)",
    "ed": r"(^|\n)!",
    "emacs": r"(shell-command|(call|start|make-network)-process|delete-(file|directory)|url-retrieve)\b",
    "expect": r"(\A|[\s;{])(spawn|exec|system)\s",
    "gdb": r"\b(shell|python|call|make)\b|!",
    "tar": r"--(checkpoint-a|to-c|use-c|rsh|info-s|new-v)|^-I|-F$",
    "zip": r"^-TT$|--unzip-command",
    "man": r"^-[PH]$|--pager|--html",
    "make": r"^-\Z|^(SHELL|MAKEFLAGS)=|^--ev|^-E",
    "sqlite3": r"^\.(shell|system|load)\b|(^|\n)\.(shell|system|load)\b|\bload_extension\(",
    "jq": r"\benv\b|\$ENV",
    "osascript": r"do shell script",
    "rsync": r"^-e$|--rsh|^-[a-z]*e$",
    **dict.fromkeys(("ssh", "scp", "sftp"), r"(?i)(proxy|local|knownhosts)command|^-[SF]"),
    "ssh-keygen": r"^-[Dw]",
    "wget": r"--use-askpass|\buse_?askpass\b",
    "curl": r"^--engine",
    "aria2c": r"^--on-",
    "go": r"^--?(toolexec|exec|vettool)\b",
    "sort": r"^--comp",
    "split": r"^--filter",
    "hash": r"^-\w*p",
    "enable": r"^-\w*f",
    "bind": r"^-\w*x",
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), r"^-\w*C"),
    "less": r"^\+!|!",
    **dict.fromkeys(("ruby", "perl", "php", "julia"), "`"),
    "groovy": r"\.execute\(",
    "npm": r"--script-shell",
    "pip": r"--editor",
}
_SAME = {
    **dict.fromkeys(("gawk", "mawk", "nawk"), "awk"),
    **dict.fromkeys(("vi", "nvim", "ex", "view"), "vim"),
    "gsed": "sed",
    "gmake": "make",
}


def runs_inline(call: Call, workspace: str) -> bool:
    """Returns whether an interpreter gets possibly harmful code (see `can_harm`) in its arguments, as in
    `python -c`, or on its standard input.
    """
    del workspace
    if not _INTERPRETER.match(call.name):
        return False
    return any(map(can_harm, _programs(call)))


def escapes(call: Call, workspace: str) -> bool:
    del workspace
    pattern = _ESCAPES.get(_SAME.get(call.name, call.name))
    texts = [*call.texts, fed_text(call.command) or ""]
    return pattern is not None and any(re.search(pattern, text) for text in texts)


def names_makefile(call: Call, workspace: str) -> bool:
    """Returns whether the command names a makefile whose path is unknown or outside the workspace, as in
    `make -f /tmp/x`. A makefile in the workspace is allowed.
    """
    paths = map(call.path, makefiles_of(call))
    return any(path is None or not PurePosixPath(path).is_relative_to(workspace) for path in paths)


def _programs(call: Call) -> Iterator[str]:
    if any(_PROGRAM_OPTION.match(text) for text in call.texts):
        yield from call.texts
    if not call.operands or call.operands[0].text in {"-", "/dev/stdin"}:
        yield fed_text(call.command) or ""
