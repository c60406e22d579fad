"""Parses shell text into the simple commands that it may run, including nested and quoted ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_runtime.security.shell.lexer import REDIRECTS, ShellSyntaxError, Token, tokenize
from agent_runtime.security.shell.words import Pieces, Word, expand, text_of, value_of

MAX_DEPTH = 24
MAX_CHARS = 100_000

# Words that stand before a command, or after one, and run nothing themselves.
_KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time", "esac")
)
_DECLARATIONS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_VERSION = re.compile(r"\A(python\d|pip\d|perl|ruby|lua|php)[.\d]+\Z")
HOME: Mapping[str, str | None] = {"HOME": "~", "PWD": "."}


@dataclass(frozen=True)
class Redirect:
    operator: str
    target: Word


@dataclass(frozen=True)
class Command:
    """A simple command of a shell script: one program with its arguments.

    `words`: the program and its arguments. `stdin`: the text that the command reads; None if the script does
    not contain this text.

    `source`: the command whose output this command reads through a pipe. `substituted`: the commands whose
    output is among the arguments. `assigned`: the names and values of the variables in the assignments before
    the program. A null character in a value stands for an unknown part.
    """

    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: str | None = None
    source: "Command | None" = None
    substituted: tuple["Command", ...] = ()
    assigned: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The program's name without directory and minor version: `python3` for `/usr/bin/python3.11`. The
        name is empty if it is only known when the command runs, or if the command has no words.
        """
        first = self.words[0] if self.words else None
        if first is None or not first.is_known or first.has_glob:
            return ""
        return _VERSION.sub(r"\1", first.text.rsplit("/", 1)[-1])


@dataclass(frozen=True)
class Script:
    """The commands that were found in a shell text.

    `is_understood`: whether the whole text could be parsed.
    """

    commands: tuple[Command, ...]
    is_understood: bool = True


def parse(text: str, *, depth: int = 0, variables: Mapping[str, str | None] = HOME) -> Script:
    """Returns all commands in a shell text, including those in substitutions, functions and branches. Never
    raises an error. The field `is_understood` of the result is False if a part could not be parsed. `depth`:
    how deeply the text is nested in other scripts. `variables`: the known values of variables at the
    beginning; None for an unknown value.
    """
    if depth > MAX_DEPTH or len(text) > MAX_CHARS:
        return Script((), is_understood=False)
    parser = _Parser(depth, dict(variables))
    try:
        parser.take(tokenize(text))
    except ShellSyntaxError:
        return Script(tuple(parser.commands), is_understood=False)
    return Script(tuple(parser.commands), is_understood=parser.is_understood)


@dataclass
class _Open:
    """The parts of a command that the parser has read so far, while the command is not complete. At the end
    of the command, they become a `Command`, whose docstring explains the fields.
    """

    source: Command | None = None
    words: list[Pieces] = field(default_factory=list)
    redirects: list[tuple[str, Pieces]] = field(default_factory=list)
    substituted: list[Command] = field(default_factory=list)
    assigned: list[tuple[str, str]] = field(default_factory=list)
    stdin: str | None = None


class _Parser:
    def __init__(self, depth: int, variables: dict[str, str | None]) -> None:
        self.commands: list[Command] = []
        self.is_understood = True
        self._depth = depth
        self._variables = variables
        self._open = _Open()
        self._outputs: dict[str, list[Command]] = {}
        """For each variable: the commands whose output was assigned to the variable."""
        self._parentheses = 0
        self._cases = 0

    def take(self, tokens: list[Token]) -> None:
        redirect: str | None = None
        for token in tokens:
            self._take_scripts(token)
            if redirect is not None:
                self._redirect(redirect, token)
                redirect = None
            elif token.operator is None:
                self._take_word(token)
            elif token.operator in REDIRECTS:
                redirect = token.operator
            else:
                self._take_operator(token.operator)
        self._end()

    def _take_operator(self, operator: str) -> None:
        if operator == "(":
            self._parentheses += 1
        elif operator == ")" and self._parentheses:
            self._parentheses -= 1
        elif operator == ")" and self._cases:
            self._open = _Open()  # a pattern of the case
            return
        self._end(pipes=operator in {"|", "|&"})

    def _take_scripts(self, token: Token) -> None:
        for text in token.scripts:
            inner = parse(text, depth=self._depth + 1, variables=self._variables)
            self.commands += inner.commands
            self._open.substituted += inner.commands
            self.is_understood = self.is_understood and inner.is_understood

    def _take_word(self, token: Token) -> None:
        if self._open.words or token.keyword not in _KEYWORDS:
            self._cases += not self._open.words and token.keyword == "case"
            self._open.words.append(token.pieces)
        elif token.keyword == "esac":
            self._cases = max(self._cases - 1, 0)

    def _redirect(self, operator: str, token: Token) -> None:
        if token.operator is not None:
            raise ShellSyntaxError
        self._open.redirects.append((operator, token.pieces))
        if operator == "<<<":
            self._open.stdin = value_of(token.pieces, self._variables)
        elif token.body is not None:
            self._open.stdin = token.body

    def _end(self, *, pipes: bool = False) -> None:
        opened, self._open = self._open, _Open()
        words = _without_head(self._assign(opened))
        if words or opened.redirects or opened.assigned:
            self.commands.append(self._command(words, opened))
        if pipes and self.commands:
            self._open.source = self.commands[-1]

    def _command(self, words: list[Word], opened: _Open) -> Command:
        redirects = [
            Redirect(operator, one)
            for operator, pieces in opened.redirects
            for one in expand(pieces, self._variables)[:1]
        ]
        used = [piece.variable for pieces in opened.words for piece in pieces if piece.variable]
        printed = [command for name in used for command in self._outputs.get(name, ())]
        return Command(
            tuple(words),
            tuple(redirects),
            opened.stdin,
            opened.source,
            (*opened.substituted, *printed),
            tuple(opened.assigned),
        )

    def _assign(self, opened: _Open) -> list[Word]:
        """Records the variable assignments at the beginning of a command. Returns the other words of the
        command, in which variables are replaced by their values.
        """
        rest = list(opened.words)
        while rest and (assignment := self._note(rest[0])):
            rest.pop(0)
            opened.assigned.append(assignment)
            name, _ = assignment
            if opened.substituted:
                self._outputs[name] = list(opened.substituted)
        expanded = [word for pieces in rest for word in expand(pieces, self._variables)]
        first = expanded[0].text if expanded else ""
        if first in _DECLARATIONS:
            for pieces in rest[1:]:
                self._note(pieces)
        elif first in {"for", "select"} and len(expanded) > 1:
            self._variables[expanded[1].text] = None
        return expanded

    def _note(self, pieces: Pieces) -> tuple[str, str] | None:
        """Parses a shell word as a variable assignment, such as `a=b`. Returns the variable's name and value,
        or None if the word is not an assignment. `pieces`: the parts of the word.

        Stores the value for the later commands of the script. If the variable already had another value, its
        value counts as unknown from then on.
        """
        first = pieces[0] if pieces else None
        found = _ASSIGNMENT.match(first.text or "") if first and not first.is_quoted else None
        if first is None or found is None:
            return None
        rest = (type(first)((first.text or "")[found.end() :]), *pieces[1:])
        name, value = found.group(1), value_of(rest, self._variables)
        assignment = name, text_of(rest, self._variables)
        known = self._variables.get(name, value)
        # After a loop or a branch, the variable may have either value.
        self._variables[name] = value if known == value else None
        return assignment


def _without_head(words: list[Word]) -> list[Word]:
    """Removes the words before the inner command in `function name { command`, `coproc [name {] command` and
    `time -p command`. For example, returns `rm` and `x` for the words `coproc rm x`. Returns the words of
    other commands unchanged.
    """
    texts = [word.text for word in words[:3]]
    if texts[:1] == ["function"] or (texts[:1] == ["coproc"] and "{" in texts):
        return words[texts.index("{") + 1 :] if "{" in texts else words[2:]
    return words[1:] if texts[:1] in (["coproc"], ["-p"]) else words
