"""Guesses from the words of a shell command whether the command only reads, changes files, or runs tests. The
result is only shown to users; no permission depends on it.
"""

import re
from typing import Literal

CommandKind = Literal["looks", "changes", "runs", "tests"]

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_SEPARATORS = re.compile(r"&&|\|\||[;|\n&]")
_REDIRECTED = re.compile(r"(?<![\d&<>])>>?\s*(?!&)(?!/dev/|/tmp/)[\w./~$-]")
_VARIABLE = re.compile(r"^\w+=\S*$")
_PREFIXES = frozenset({"command", "env", "exec", "nice", "nohup", "sudo", "time", "timeout", "xargs"})

_TESTS = re.compile(
    r"\b(pytest|unittest|doctest|tox|nox|jest|vitest|mocha|karma|cypress|rspec|phpunit|ctest)\b"
    r"|\bplaywright\s+test\b"
    r"|\b(npm|yarn|pnpm|bun|deno)\s+(run\s+)?(t|test\S*)(\s|$)"
    r"|\b(go|cargo|dotnet|mvn|mvnw|gradle|gradlew|swift|mix|bazel|zig|flutter|dart|sbt|lein|rake|make|just|task"
    r"|composer|rails)\b.*\b(tests?|check|verify|spec)\b"
)
_CHANGES = re.compile(
    r"^(mv|cp|rm|rmdir|ln|touch|patch|tee|truncate|dd|unzip|black|isort)\b"
    r"|^(sed|perl)\b.*\s-\w*i"
    r"|^git\s+(-\S+\s+)*(apply|am|checkout|cherry-pick|clean|merge|mv|pull|rebase|reset|restore|revert|rm"
    r"|stash|switch)\b"
    r"|^(ruff\s+format|gofmt\s+-w|rustfmt|cargo\s+fmt|go\s+fmt)\b|\s(--write|--fix|--in-place)\b"
)
_LOOKS = re.compile(
    r"^(ls|cat|head|tail|less|more|grep|rg|ag|find|fd|pwd|cd|echo|printf|wc|which|type|env|export|stat|file|tree"
    r"|du|df|ps|sleep|date|sort|uniq|cut|tr|awk|sed|column|diff|cmp|jq|true|set|source|mkdir|man|help|id|whoami"
    r"|hostname|uname|history|clear|jobs|kill|\.|:)(\s|$)"
    r"|^git\s+(-\S+\s+)*(add|blame|branch|commit|config|diff|fetch|grep|log|ls-files|push|remote|rev-parse"
    r"|show|status|tag)\b"
    r"|^(pip|pip3|npm|yarn|pnpm|apt-get|apt|uv)\s+(install|add|ci|sync|update|list|show)\b|^\S+\s+--version$"
)


def kind_of(command: str) -> CommandKind:
    """Returns the kind of a shell command. If several kinds fit, returns the first of this list. `tests`: the
    command runs tests. `changes`: a part of the command changes files. `looks`: all parts of the command only
    read. `runs`: every other command.
    """
    plain = _QUOTED.sub("''", _HERE_DOCUMENT.sub(" ", command))
    parts = [part for piece in _SEPARATORS.split(_without_streams(plain)) if (part := _program(piece))]
    if any(_TESTS.search(part) and not _LOOKS.match(part) for part in parts):
        return "tests"
    if _REDIRECTED.search(plain) or any(_CHANGES.search(part) for part in parts):
        return "changes"
    return "looks" if all(_LOOKS.match(part) for part in parts) else "runs"


def tells_result(command: str) -> bool:
    """Returns whether the exit code of a command line shows if its tests have passed. Returns False if the
    command line runs no tests.

    The exit code shows the result of the tests if every command after the last test command is joined by
    `&&`. For example, returns True for `pytest && ls`, but False for `pytest; ls`. If the command line sets
    the shell option `pipefail`, the commands may also be joined by a pipe.
    """
    plain = _without_streams(_QUOTED.sub("''", _HERE_DOCUMENT.sub(" ", command))).strip()
    allowed_separators = {"&&", "|"} if "pipefail" in plain else {"&&"}
    separators = list(_SEPARATORS.finditer(plain))
    starts = [0, *(one.end() for one in separators)]
    ends = [*(one.start() for one in separators), len(plain)]
    parts = [_program(plain[start:end]) for start, end in zip(starts, ends, strict=True)]
    tests = [at for at, part in enumerate(parts) if _TESTS.search(part) and not _LOOKS.match(part)]
    return bool(tests) and all(one[0] in allowed_separators for one in separators[tests[-1] :])


def _without_streams(text: str) -> str:
    """Returns the command without redirections of streams, such as `2>&1`, so that a later split of the
    command at `&` does not split a redirection.
    """
    return re.sub(r"\d?>&\d?|&>", " ", text)


def _program(part: str) -> str:
    """Returns a part of a command line from the name of its program on. The words before that name are left
    out: variable assignments, and programs such as `sudo` that only start another program. For example,
    returns `pytest -q` for `CI=1 sudo pytest -q`.
    """
    words = part.strip().lstrip("({").split()
    while words and (_VARIABLE.match(words[0]) or words[0] in _PREFIXES):
        words = words[1:]
        while words and (words[0].startswith("-") or words[0].replace(".", "").rstrip("sm").isdigit()):
            words = words[1:]
    return " ".join(words)
