"""Replaces ripgrep where it is not installed: lists the files that git does not ignore, or searches them.

This module runs as a separate program, which can be killed at any moment, because some regular expressions
keep a Python interpreter busy for ever. The module imports only the standard library.

    scan.py list                     files below the current directory
    scan.py grep PATTERN TARGET      files at or below TARGET with a line that matches
    scan.py lines PATTERN N M FILE…  the first M matching lines of each file, and N lines around each

With `list` and `grep`, prints paths, each ended by a NUL. With `lines`, prints what ripgrep prints with
--null and --line-number. The exit code 2 means that the pattern is not valid; standard error then says why.
"""

# Paths stay text: with an object for each, walking a large tree takes several times as long.
# ruff: noqa: PTH100, PTH113, PTH118, PTH120, PTH123

import codecs
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# A file with a NUL in its first part is binary and is skipped. A NUL after this part ends the search of the
# file.
_PROBED_BYTES = 65_536
_TOKEN = re.compile(
    r"(?P<directories>(?:^|(?<=/))\*\*/)|(?P<all>^\*\*$)|(?P<below>(?<=/)\*\*$)|(?P<star>\*)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?[^\]]*\])|\\(?P<escaped>.)|(?P<brace>[{,}])|(?P<plain>.)",
    re.DOTALL,
)
_FIXED = {"directories": "(?:.*/)?", "all": ".*", "below": ".+", "star": "[^/]*", "one": "[^/]"}
_POSIX_CLASSES = {
    "[:alnum:]": "a-zA-Z0-9",
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\s",
    "[:upper:]": "A-Z",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
}


class IgnoreRule(NamedTuple):
    """One line of a .gitignore. `regex` matches paths relative to the directory of the .gitignore.
    `is_negated`: whether the line includes matching paths again (`!`). `is_for_directories`: whether the line
    applies only to directories.
    """

    regex: re.Pattern[str]
    is_negated: bool
    is_for_directories: bool


class Rules(NamedTuple):
    """The rules of one .gitignore file. `base`: the directory of the file, with a slash at the end."""

    base: str
    rules: list[IgnoreRule]


def glob_regex(glob: str, *, has_braces: bool = True) -> str:
    """Converts a glob for relative paths to a regular expression, which must match the whole path. `*` and
    `?` do not match a slash, `**` does. `has_braces`: whether `{a,b}` in the glob means `a` or `b`.
    """
    has_braces = has_braces and glob.count("{") == glob.count("}")
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(glob):
        kind = token.lastgroup or ""
        if kind == "set":
            parts.append(_set_regex(token["set"]))
        elif kind == "brace" and has_braces and (depth or token[0] == "{"):
            parts.append({"{": "(?:", ",": "|", "}": ")"}[token[0]])
            depth += {"{": 1, ",": 0, "}": -1}[token[0]]
        else:
            parts.append(_FIXED.get(kind) or re.escape(token[kind]))
    return "".join(parts) + ")" * depth


def parse_gitignore(text: str) -> list[IgnoreRule]:
    return [rule for line in text.split("\n") if (rule := _rule(line))]


def walk(root: str) -> Iterator[str]:
    """Yields the paths of files below `root` that git does not ignore, relative to `root`.

    Includes hidden files, but neither symbolic links nor the content of `.git`.
    """
    yield from _walk(root, "", _inherited(root))


def matching(pattern: str, names: Iterable[str]) -> Iterator[str]:
    """Yields each file in `names` that contains a match of the regular expression `pattern`. A match may
    cover several lines if the pattern contains a line break.
    """
    is_multiline = "\\n" in pattern or "\n" in pattern
    regex = re.compile(_as_python(pattern), re.MULTILINE if is_multiline else 0)
    for name in names:
        text = _searchable_text(name)
        pieces = [text] if is_multiline else text.removesuffix("\n").split("\n") if text else []
        if any(regex.search(piece) for piece in pieces):
            yield name


def matching_lines(pattern: str, context: int, most: int, names: Iterable[str]) -> Iterator[str]:
    """Yields the matching lines of the files `names`, with `context` lines around each. The format is that of
    ripgrep: `NAME`, a NUL, the line number, `:` (or `-` for a context line), and the text. `most`: the
    largest number of matching lines per file.
    """
    is_multiline = "\\n" in pattern or "\n" in pattern
    regex = re.compile(_as_python(pattern), re.MULTILINE if is_multiline else 0)
    for name in names:
        text = _searchable_text(name)
        lines = text.removesuffix("\n").split("\n") if text else []
        matched = sorted(_matched(regex, text, lines, is_multiline))[:most]
        shown = {near for at in matched for near in range(at - context, at + context + 1)}
        for at in sorted(shown & set(range(len(lines)))):
            yield f"{name}\0{at + 1}{':' if at in matched else '-'}{lines[at]}"


def _matched(regex: re.Pattern[str], text: str, lines: list[str], is_multiline: bool) -> set[int]:
    if not is_multiline:
        return {at for at, line in enumerate(lines) if regex.search(line)}
    found: set[int] = set()
    for match in regex.finditer(text):
        first = text.count("\n", 0, match.start())
        found.update(range(first, text.count("\n", 0, max(match.start(), match.end() - 1)) + 1))
    return found


def main(arguments: list[str]) -> int:
    names: Iterable[str]
    if arguments[0] == "lines":
        _, pattern, context, most, *files = arguments
        for line in matching_lines(pattern, int(context), int(most), files):
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")
        return 0
    if arguments[0] == "list":
        names = walk(".")
    else:
        _, pattern, target = arguments
        found = [target] if os.path.isfile(target) else walk(target)
        try:
            names = list(matching(pattern, found))
        except re.error as error:
            sys.stderr.write(f"regex parse error: {error}\n")
            return 2
    for name in names:
        sys.stdout.buffer.write(os.fsencode(name) + b"\0")
    return 0


def _set_regex(glob: str) -> str:
    content = glob[1:-1]
    negation = "^" if content[0] in "!^" else ""
    members = re.sub(r"([\\\[\]&~|^])", r"\\\1", content[len(negation) :])
    return f"(?!/)[{negation}{members}]"


def _rule(line: str) -> IgnoreRule | None:
    line = line.removesuffix("\r")
    if not line.endswith("\\ "):
        line = line.rstrip()
    if not line or line.startswith("#"):
        return None
    is_negated = line.startswith("!")
    line = line.removeprefix("!")
    is_for_directories = line.endswith("/")
    line = line.removesuffix("/")
    if "/" not in line:
        line = f"**/{line}"
    try:
        regex = re.compile(glob_regex(line.removeprefix("/"), has_braces=False))
    except re.error:
        return None
    return IgnoreRule(regex, is_negated, is_for_directories)


def _inherited(root: str) -> list[Rules]:
    """Returns the rules of the .gitignore files in the directories above `root`, up to the top directory of
    the git repository.
    """
    chain: list[Rules] = []
    directory = os.path.abspath(root)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
        chain = [*_rules_in(directory), *chain]
    return chain


def _walk(root: str, relative: str, chain: list[Rules]) -> Iterator[str]:
    directory = os.path.join(root, relative) if relative else root
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    if any(entry.name == ".git" for entry in entries):
        chain = []  # a nested repository
    chain = [*chain, *_rules_in(os.path.abspath(directory))]
    for entry in entries:
        name = f"{relative}/{entry.name}" if relative else entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(os.path.abspath(entry.path), is_directory, chain):
            continue
        if is_directory:
            yield from _walk(root, name, chain)
        elif entry.is_file(follow_symlinks=False):
            yield name


def _rules_in(directory: str) -> list[Rules]:
    try:
        with open(os.path.join(directory, ".gitignore"), encoding="utf-8", errors="replace") as file:
            rules = parse_gitignore(file.read())
    except OSError:
        return []
    return [Rules(directory.removesuffix("/") + "/", rules)] if rules else []


def _is_ignored(path: str, is_directory: bool, chain: list[Rules]) -> bool:
    for base, rules in reversed(chain):
        for rule in reversed(rules):
            if rule.is_for_directories and not is_directory:
                continue
            if rule.regex.fullmatch(path[len(base) :]):
                return not rule.is_negated
    return False


def _as_python(pattern: str) -> str:
    for name, members in _POSIX_CLASSES.items():
        pattern = pattern.replace(name, members)
    return re.sub(r"\(\?<(?![=!])", "(?P<", pattern)


def _searchable_text(name: str) -> str:
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError:
        return ""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    end = data.find(b"\0")
    if 0 <= end < _PROBED_BYTES:
        return ""
    data = data if end < 0 else data[:end]
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
