"""Contains functions that the table of security rules uses. The functions check whether a command sets
environment variables that make a program run other code, such as `LD_PRELOAD`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile

from agent_runtime.security import path_policy
from agent_runtime.security.rules.rule import of
from agent_runtime.security.shell.calls import Call, behind, resolve
from agent_runtime.security.shell.words import Word

_LOADS = of(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH BASH_ENV ZDOTDIR PROMPT_COMMAND MAKEFILES "
    "PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5DB RUBYOPT GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF "
    "GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM "
    "GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS RSYNC_RSH CVS_RSH LESSOPEN LESSCLOSE npm_config_script_shell "
    "NPM_CONFIG_SCRIPT_SHELL"
)
_RUN_ON_PURPOSE = of(
    "EDITOR VISUAL PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS SSH_ASKPASS MANPAGER BROWSER"
)
_PLAIN = re.compile(r"(|:|true|false|cat|less|more|vi|vim|nano|/bin/true|/bin/cat|echo)\Z")
_JAVA = r"-(javaagent|agentpath|agentlib)|-XX:On"
_HARMFUL = {
    "NODE_OPTIONS": r"--?(require|import|r|loader|experimental-loader)\b",
    "ENV": r"\A[.~/]",
    "GOFLAGS": r"-(toolexec|exec|vettool)\b",
    "MAKEFLAGS": r"--eval|\bSHELL=",
    "PYTHONBREAKPOINT": r"\A(?!(0|i?pdb\.set_trace)?\Z)",
    "TAR_OPTIONS": r"--(checkpoint-a|to-c|use-c|rsh|info-s)|-[IF]",
    **dict.fromkeys(("PS1", "PS4"), r"\$\(|`"),
    **dict.fromkeys(("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS"), _JAVA),
}
# Search paths for programs and libraries. The first directory that has the file is used.
_SEARCHED = of("PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH")
# Directories where package managers install programs of the project. It is usual to run these programs.
_INSTALLED = re.compile(r"(\A|/)(node_modules/\.bin|\.?v?env[\w.-]*/bin|vendor/bin|\.tox/[\w.-]+/bin)/?\Z")


def loads_code(call: Call, workspace: str) -> bool:
    del workspace
    return any(_loads(name, value) for name, value in assignments(call))


def hides_programs(call: Call, workspace: str) -> bool:
    """Returns whether the command sets a search path that makes a file of the agent replace a system program
    or library of the same name. The checked variables are PATH and the search paths for libraries.

    The first directory of a search path that contains a file is used. So the result is True if a directory to
    which the agent can write comes before a directory to which it cannot write. The result is also True if
    the agent can write to all directories of the search path.

    Search paths for libraries are not checked if the command starts a program that is in the workspace.
    """
    first = call.command.words[0] if call.command.words else Word("")
    path = resolve(first, call.directory) if "/" in first.text else None
    runs_own = path is not None and path_policy.is_inside(path, workspace)
    return any(
        _puts_writable_first(value, call.directory, workspace)
        for name, value in assignments(call)
        if value and name in _SEARCHED and not (runs_own and name != "PATH")
    )


def assignments(call: Call) -> Iterator[tuple[str, str]]:
    """Yields the names and values of the environment variables that the command sets for programs. A null
    character in a value stands for an unknown part.
    """
    yield from call.command.assigned
    if call.name in {"export", "declare", "typeset", "readonly", "local", "env"}:
        words = _before_program(call) if call.name == "env" else call.arguments
        pairs = (word.text.partition("=") for word in words)
        exports = call.name == "export" and not call.has("-n")
        yield from ((name.rstrip("+"), value) for name, is_set, value in pairs if is_set or exports)


def _before_program(call: Call) -> Iterator[Word]:
    program = behind(call)
    yield from call.arguments[: len(call.arguments) - len(program)]
    yield from takewhile(lambda word: "=" in word.text, program)  # after `--`


def _loads(name: str, value: str) -> bool:
    if name in _LOADS:
        return True
    if name in _RUN_ON_PURPOSE:
        return not _PLAIN.match(value)
    return name in _HARMFUL and re.search(_HARMFUL[name], value) is not None


def _puts_writable_first(value: str, directory: str | None, workspace: str) -> bool:
    are_writable = [_is_writable(entry, directory, workspace) for entry in value.split(":")]
    # A writable directory at the end only provides programs that the system does not have.
    return all(are_writable) or (True, False) in pairwise(are_writable)


def _is_writable(entry: str, directory: str | None, workspace: str) -> bool:
    """Returns whether the agent can write to a directory of a search path. `entry`: the directory in the
    search path; an empty entry means the current directory. `directory`: the current directory; None if not
    known.

    Returns False for an entry with unknown parts. Also returns False for directories such as
    `node_modules/.bin`, where package managers install programs, because it is usual to run these programs.
    Returns True for a relative entry if the current directory is not known.
    """
    if "\0" in entry or _INSTALLED.search(entry):
        return False
    path = resolve(Word(entry or "."), directory)
    return path is None or path_policy.is_inside(path, workspace)
