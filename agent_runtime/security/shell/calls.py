"""Finds the programs that a shell command really runs, also the programs that sudo, env, xargs, `sh -c`,
`find -exec` and similar commands start.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from agent_runtime.security.rules import links
from agent_runtime.security.shell import makefiles
from agent_runtime.security.shell.parser import MAX_DEPTH, Command, Redirect, parse
from agent_runtime.security.shell.texts import fed_text, known_text, printed_text
from agent_runtime.security.shell.words import Word
from agent_runtime.security.shell.wrappers import OPERANDS, WRAPPERS

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
PRIVILEGED = frozenset(
    {"sudo", "doas", "su", "pkexec", "runuser", "sudoedit", "run0", "gosu", "su-exec", "machinectl"}
)
_UNKNOWN_ARGUMENT = Word("\0", is_known=False)

_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_EXEC_VALUES = frozenset(
    {"-e", "--env", "-u", "--user", "-w", "--workdir", "--env-file", "--detach-keys", "--index"}
)
_TAKES_UNKNOWN_ARGUMENTS = frozenset({"xargs", "parallel"})
_TAKES_TEXTS = frozenset({"trap", "watch", "parallel", "tmux"})
_REPLACES = re.compile(r"-[0oprtx]*(?P<short>[Ii])(?P<attached>.*)|--replace(?:=(?P<long>.*))?", re.DOTALL)
_FIND_COMMANDS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True)
class Call:
    """A program that a shell command would run. `directory`: the directory where the program runs; None if
    this is not known in advance.

    `wrappers`: the programs that start this program, such as sudo. `command`: the parsed shell command.
    `in_script`: whether a makefile, or a script file that already exists on the disk, contains this call.
    `in_container`: whether the program runs in another container than the agent, where the same paths mean
    other files.
    """

    name: str
    arguments: tuple[Word, ...]
    directory: str | None
    command: Command
    wrappers: tuple[str, ...] = ()
    in_script: bool = False
    in_container: bool = False

    @property
    def options(self) -> frozenset[str]:
        """The options of the call. `-rf` counts as `-rf`, `-r` and `-f`; `--name=value` counts as
        `--name`.
        """
        found: set[str] = set()
        for text in self.texts:
            if text == "--":
                break
            if text.startswith("--"):
                found.add(text.partition("=")[0])
            elif text.startswith("-") and len(text) > 1:
                found.update((text, *(f"-{letter}" for letter in text[1:])))
        return frozenset(found)

    @property
    def operands(self) -> list[Word]:
        return [word for word in self.arguments if not word.text.startswith("-") or word.text == "-"]

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.arguments]

    @property
    def redirects(self) -> tuple[Redirect, ...]:
        return self.command.redirects

    def has(self, *options: str) -> bool:
        return not self.options.isdisjoint(options)

    def path(self, word: Word) -> str | None:
        """Returns the path that a word of the command names: an absolute path, or a path that begins with
        `~`. Returns None if the path is not known.
        """
        return resolve(word, self.directory)


@dataclass
class Calls:
    """The programs that a script would run (`program_calls`), and the state while the script is analysed.
    `is_understood`: whether `program_calls` is complete. `directory`: the current directory; None if not
    known. `links`: the targets of the symbolic links that the script creates, by path. `written`: the texts
    of the files that the script writes, by path. `scripts`: scripts that are not analysed a second time.
    """

    program_calls: list[Call] = field(default_factory=list)
    is_understood: bool = True
    directory: str | None = None
    in_container: bool = False
    links: dict[str, str] = field(default_factory=dict)
    written: dict[str, str | None] = field(default_factory=dict)
    scripts: set[str] = field(default_factory=set)


def calls_of(text: str, directory: str) -> Calls:
    calls = Calls(directory=directory)
    _collect(text, calls, 0)
    return calls


def resolve(word: Word, directory: str | None) -> str | None:
    text = word.text
    if not word.is_known:
        return None
    if text.startswith("~"):
        return os.path.normpath(text)
    if not os.path.isabs(text) and directory is None:  # noqa: PTH117 (words of a command are no paths yet)
        return None
    return os.path.normpath(os.path.join(directory or "/", text))  # noqa: PTH118


def _collect(text: str, calls: Calls, depth: int) -> None:
    if depth > MAX_DEPTH:
        calls.is_understood = False
        return
    script = parse(text)
    calls.is_understood = calls.is_understood and script.is_understood
    for command in script.commands:
        call = Call(
            command.name, command.words[1:], calls.directory, command, in_container=calls.in_container
        )
        _take(call, calls, depth)


def _take(call: Call, calls: Calls, depth: int) -> None:
    call = links.through(call, calls.links)
    calls.program_calls.append(call)
    # A name with letters that only look like ASCII is not the name of a known program.
    if depth > MAX_DEPTH or (call.command.words and not (call.name and call.name.isascii())):
        calls.is_understood = False
    if depth > MAX_DEPTH:
        return
    if call.name in {"cd", "pushd"} and call.in_container == calls.in_container:
        calls.directory = _changed_directory(call)
    if (link := links.made_link(call)) is not None:
        calls.links[link[0]] = link[1]
    for inner in _inner(call):
        _take(inner, calls, depth + 1)
    for script in _scripts(call):
        if script is None:
            calls.is_understood = False
        elif call.in_container and not calls.in_container:
            _collect_contained(script, calls, call.directory, depth + 1)
        else:
            _collect(script, calls, depth + 1)
    if call.in_container:
        return  # with files that cannot be read from here
    _run_files(call, calls, depth)
    calls.written |= links.written(call, printed_text(call.command))


def _run_files(call: Call, calls: Calls, depth: int) -> None:
    """Adds to `calls` the programs in the script files or the makefile that this call runs, as in `sh
    build.sh`. The files are on the disk, or an earlier command of the same shell text writes them. `depth`:
    how deeply the call is nested in scripts.
    """
    for path in _files_run(call):
        if path in calls.scripts:
            continue
        if path in calls.written:
            text = calls.written[path]
            calls.is_understood = calls.is_understood and text is not None
            _collect(text or "", calls, depth + 1)
        elif (text := links.on_disk(path)) is not None:
            calls.scripts.add(path)
            _collect_script(text, calls, depth + 1)
    if (recipe := makefiles.recipe_of(call, calls.written)) is not None and recipe not in calls.scripts:
        calls.scripts.add(recipe)
        _collect_script(recipe, calls, depth + 1)


def _collect_script(text: str, calls: Calls, depth: int) -> None:
    inner = Calls(directory=calls.directory, scripts=calls.scripts)
    _collect(text, inner, depth)
    # Scripts of a project do much that is only known when they run. This alone is no reason to ask.
    calls.program_calls += [replace(one, in_script=True) for one in inner.program_calls]


def _collect_contained(text: str, calls: Calls, directory: str | None, depth: int) -> None:
    """Adds to `calls` the programs that a script (`text`) starts. The script runs in another container than
    the agent, so the programs change no files of this machine. `directory`: the script's directory; None if
    unknown. `depth`: how deeply the script is nested in others.
    """
    inner = Calls(directory=directory, in_container=True)
    _collect(text, inner, depth)
    calls.is_understood = calls.is_understood and inner.is_understood
    calls.program_calls += inner.program_calls


def _files_run(call: Call) -> Iterator[str]:
    first = call.command.words[0] if call.command.words and not call.wrappers else Word("")
    words = [first] if "/" in first.text else []
    if (call.name in SHELLS and not call.has("-c", "-n", "--version")) or call.name in {"source", "."}:
        words += call.operands[:1]
    yield from (path for word in words if (path := call.path(word)) is not None)


def _changed_directory(call: Call) -> str | None:
    return call.path(call.operands[0]) if call.operands else "~"


def _inner(call: Call) -> Iterator[Call]:
    """Yields the programs that this call starts and that are named in its arguments. For example, yields
    `make` for `env make`, and `rm` for `find -exec rm`.
    """
    if call.name == "find":
        yield from _found_by_find(call)
    elif call.name in _CONTAINERS and "exec" in call.texts:
        yield from _in_container(call)
    elif call.name in WRAPPERS and not _only_asks(call) and (rest := behind(call)):
        yield _wrapped(
            call, _with_what_is_read(call, rest) if call.name in _TAKES_UNKNOWN_ARGUMENTS else rest
        )


def _in_container(call: Call) -> Iterator[Call]:
    """Yields the program that `docker exec` or `docker compose exec` runs in a container. The program's
    directory is the directory that the options name, otherwise `/`.
    """
    words, directory = list(call.arguments[call.texts.index("exec") + 1 :]), Word("/")
    while words and words[0].text.startswith("-"):
        option, _, value = words[0].text.partition("=")
        if option in {"-w", "--workdir"}:
            directory = replace(words[0], text=value) if value else next(iter(words[1:]), directory)
        words = words[2 if option in _EXEC_VALUES and not value else 1 :]
    if words[1:]:
        inner = _wrapped(call, tuple(words[1:]))
        yield replace(inner, directory=resolve(directory, "/"), in_container=True)


def _with_what_is_read(call: Call, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Fills in the command `words` that `xargs` or `parallel` runs, such as `rm {}`, and returns it. The
    inserted arguments come from the standard input, so they are not known. Each word with a placeholder
    becomes an unknown word, and one unknown word is added at the end.
    """
    placeholders = _placeholders(call, len(call.arguments) - len(words))
    filled = (_UNKNOWN_ARGUMENT if any(one in word.text for one in placeholders) else word for word in words)
    return (*filled, _UNKNOWN_ARGUMENT)


def _placeholders(call: Call, options: int) -> Iterable[str]:
    """Returns the placeholders that `xargs` or a similar program replaces by its input, such as `{}`.
    `options`: the number of words between `xargs` and the name of the program that it starts.
    """
    if call.name != "xargs":
        return {"{}"}
    found: set[str] = set()
    for at, word in enumerate(call.arguments[:options]):
        if (match := _REPLACES.fullmatch(word.text)) is None:
            continue
        is_next = match["short"] == "I" and not match["attached"]
        value = call.arguments[at + 1] if is_next and at + 1 < len(call.arguments) else word
        name = value.text if is_next else match["attached"] or match["long"] or "{}"
        # An unknown placeholder may be any text.
        found.add(name if value.is_known else "")
    return found


def _only_asks(call: Call) -> bool:
    """Returns whether the call runs no other program and only prints where a program is, as `command -v make`
    does.
    """
    return call.name == "command" and call.has("-v", "-V")


def _wrapped(call: Call, words: tuple[Word, ...]) -> Call:
    name = Command(words=words).name
    return replace(call, name=name, arguments=words[1:], wrappers=(*call.wrappers, call.name))


def behind(call: Call) -> tuple[Word, ...]:
    """Returns the words of the program that a wrapper starts: the program and its arguments. For example,
    returns `make` and `test` for `sudo make test`.
    """
    with_value, words = WRAPPERS[call.name], list(call.arguments)
    operands = OPERANDS.get(call.name, 0)
    while words:
        text = words[0].text
        if text == "--":
            return tuple(words[1:])
        if text in with_value:
            words = words[2:]
        elif text.startswith("-") or (call.name in {"env", "sudo"} and "=" in text):
            words = words[1:]
        elif operands:
            operands, words = operands - 1, words[1:]
        else:
            return tuple(words)
    return ()


def _found_by_find(call: Call) -> Iterator[Call]:
    words = list(call.arguments)
    starts = _find_starts(words)
    while words:
        word = words.pop(0)
        if word.text not in _FIND_COMMANDS:
            continue
        end = next((at for at, one in enumerate(words) if one.text in {";", "+"}), len(words))
        inner = tuple(one for one in words[:end] if one.text != "{}")
        # It finds files below its start directory. If one of those is run, the program is unknown.
        yield _wrapped(call, (*inner, *starts) if inner else (_UNKNOWN_ARGUMENT,))
        words = words[end:]


def _find_starts(words: list[Word]) -> tuple[Word, ...]:
    end = next((at for at, one in enumerate(words) if one.text.startswith(("-", "(", "!"))), len(words))
    return tuple(words[:end]) or (Word("."),)


def _scripts(call: Call) -> Iterator[str | None]:
    """Yields the texts that this call runs as shell scripts, as `sh -c` does. Yields None for a text that is
    not known in advance.
    """
    name, arguments = call.name, call.arguments
    if name == "eval":
        yield known_text(arguments)
    elif name in SHELLS or name == "su":
        yield from _of_shell(call)
    elif name == "env" and (at := _split_string(arguments)) is not None:
        option = arguments[at].text.replace("--split-string", "-S").replace("-S=", "-S")
        yield known_text((Word(option.partition("-S")[2]), *arguments[at + 1 :]))
    elif name in {"script", "flock"} and call.has("-c", "--command"):
        yield from _after_option(arguments, "c")
    elif name in _TAKES_TEXTS and (texts := [one for one in arguments if " " in one.text]):
        yield from (known_text((one,)) for one in texts)
    elif name == "alias":
        yield from (value for one in arguments for _, is_set, value in [one.text.partition("=")] if is_set)
    elif name == "fc" or (name == "parallel" and not arguments):
        yield None
    elif name in {"source", "."}:
        yield from _sourced(call)
    elif name == "git":
        yield from _of_git(call)


def _split_string(arguments: tuple[Word, ...]) -> int | None:
    options = ("-S", "--split-string", "-iS", "-vS")
    return next((at for at, one in enumerate(arguments) if one.text.startswith(options)), None)


def _after_option(arguments: tuple[Word, ...], letter: str) -> Iterator[str | None]:
    for at, word in enumerate(arguments):
        text = word.text
        if text.startswith("--command=") and word.is_known:
            yield text.partition("=")[2]
        elif text == "--command" or re.fullmatch(rf"-[A-Za-z]*{letter}", text):
            yield known_text(arguments[at + 1 : at + 2])


def _sourced(call: Call) -> Iterator[str | None]:
    if any(not word.is_known for word in call.arguments):
        yield None
    elif call.operands and call.operands[0].text == "/dev/stdin":
        yield fed_text(call.command)


def _of_git(call: Call) -> Iterator[str | None]:
    """Yields the shell texts that git runs: the `make` in `git bisect run make`, `git submodule foreach 'make
    clean'`, `git rebase --exec make`. Yields None for a text that is not known in advance.
    """
    texts = call.texts
    for pair in (["bisect", "run"], ["submodule", "foreach"]):
        for at in range(len(texts) - 1):
            if texts[at : at + 2] == pair:
                yield known_text(
                    tuple(word for word in call.arguments[at + 2 :] if word.text != "--recursive")
                )
    if "rebase" in texts:
        for at, text in enumerate(texts):
            if text in {"-x", "--exec"}:
                yield known_text(call.arguments[at + 1 : at + 2])
            elif text.startswith("--exec="):
                yield text.partition("=")[2]


def _of_shell(call: Call) -> Iterator[str | None]:
    for at, word in enumerate(call.arguments):
        if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text:
            yield known_text(call.arguments[at + 1 : at + 2])
            return
    if call.name == "su" or call.operands or call.has("--version", "--help"):
        if any(not word.is_known for word in call.arguments):
            yield None
        return
    if call.command.stdin is not None or call.command.source is not None:
        yield fed_text(call.command)
    elif any(one.operator == "<" for one in call.redirects) or "xargs" in call.wrappers:
        yield None
