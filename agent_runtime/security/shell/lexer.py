"""Splits shell text into tokens: words with their quotes resolved, operators, and scripts in substitutions.

The lexer follows bash in everything that affects which programs run. It raises `ShellSyntaxError` where bash
would also refuse the text.
"""

import re
from dataclasses import dataclass, replace

from agent_runtime.security.shell.words import Piece, Pieces

_CASE = re.compile(r"(?<![\w./-])case\s[^;\n]{1,200}?\sin\s")
_ESAC = re.compile(r"(?<![\w./-])esac\b")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_SIMPLE_EXPANSION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DEMANDED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):?\?")
_OPERATORS = (
    "<<<", "<<-", "&>>", ";;&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "&&", "||", "|&", ";;", ";&",
    ";", "&", "|", "(", ")", "<", ">", "\n",
)  # fmt: skip
REDIRECTS = frozenset({"<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)


class ShellSyntaxError(Exception):
    """The error that is raised when a text is not valid for any shell."""


@dataclass(frozen=True)
class Token:
    """A word or an operator of a shell text. `keyword`: the word as it was typed, if nothing in it is quoted
    or expanded, otherwise None. Only such a word can be a keyword of the shell, such as `if`.

    `scripts`: the texts in the word that run as separate scripts, such as the text in `$(…)`. `body`: the
    text of the here-document, if the token is the operator that begins one.
    """

    operator: str | None = None
    pieces: Pieces = ()
    keyword: str | None = None
    scripts: tuple[str, ...] = ()
    body: str | None = None


def tokenize(text: str) -> list[Token]:
    """Splits a shell text into tokens and returns them. Raises ShellSyntaxError if the text is not valid for
    any shell.
    """
    return _Lexer(text).tokens()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._scripts: list[str] = []
        self._tokens: list[Token] = []
        self._heredocs: list[tuple[int, bool]] = []
        """The here-documents that begin after the current line. Each item has the index of the token with the
        delimiter, and whether tabs at the beginning of lines are dropped.
        """

    def tokens(self) -> list[Token]:
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                return self._tokens
            self._take()

    def _take(self) -> None:
        text, at = self._text, self._at
        if text.startswith("((", at) and (inner := self._arithmetic_command()) is not None:
            self._tokens.append(Token(";", scripts=tuple(_substitutions(inner))))
            return
        operator = None if text.startswith(("<(", ">("), at) else _operator_at(text, at)
        if operator is None:
            self._take_word()
            return
        self._at += len(operator)
        self._tokens.append(Token(operator))
        if operator == "\n":
            self._read_heredocs()

    def _take_word(self) -> None:
        start, self._scripts = self._at, []
        pieces = self._word()
        typed = self._text[start : self._at]
        keyword = typed if len(pieces) == 1 and typed == pieces[0].text else None
        before = self._tokens[-1].operator if self._tokens else None
        if before in {"<<", "<<-"}:
            self._heredocs.append((len(self._tokens), before == "<<-"))
        elif before in REDIRECTS or not self._is_descriptor(keyword):
            pass
        else:
            return  # the number before a redirection is no argument
        self._tokens.append(Token(None, pieces, keyword, tuple(self._scripts)))

    def _is_descriptor(self, keyword: str | None) -> bool:
        return keyword is not None and keyword.isdigit() and self._text[self._at : self._at + 1] in {"<", ">"}

    def _arithmetic_command(self) -> str | None:
        start = self._at
        inner = self._balanced("(", ")")
        if inner.endswith(")") and inner.startswith("("):
            return inner
        self._at = start
        return None

    def _skip_blanks(self) -> None:
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t\r":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _word(self) -> Pieces:
        pieces: list[Piece] = []
        plain = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n;&|()" or (char in "<>" and not self._is_process_substitution()):
                break
            if char not in "'\"\\$`<>":
                plain += char
                self._at += 1
                continue
            if plain:
                pieces.append(Piece(plain))
                plain = ""
            pieces += self._special(char)
        if plain:
            pieces.append(Piece(plain))
        return tuple(pieces)

    def _is_process_substitution(self) -> bool:
        return self._text.startswith("(", self._at + 1)

    def _special(self, char: str) -> list[Piece]:
        match char:
            case "'":
                return [Piece(self._until("'"), is_quoted=True)]
            case '"':
                self._at += 1
                return self._double_quoted()
            case "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                return [] if escaped == "\n" else [Piece(escaped, is_quoted=True)]
            case "<" | ">":
                self._at += 1
                self._scripts.append(self._balanced("(", ")"))
                return [Piece(None)]
            case _:
                return [self._expansion(is_quoted=False)]

    def _until(self, end: str) -> str:
        """Returns the text between the current character, such as a quote, and the next `end`. Moves the
        current position behind `end`. Raises ShellSyntaxError if there is no `end`.
        """
        close = self._text.find(end, self._at + 1)
        if close < 0:
            raise ShellSyntaxError
        found = self._text[self._at + 1 : close]
        self._at = close + 1
        return found

    def _double_quoted(self) -> list[Piece]:
        pieces: list[Piece] = [Piece("", is_quoted=True)]
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return pieces
            if char == "\\" and self._text[self._at + 1 : self._at + 2] in {"$", "`", '"', "\\", "\n"}:
                escaped = self._text[self._at + 1]
                pieces.append(Piece("" if escaped == "\n" else escaped, is_quoted=True))
                self._at += 2
            elif char in "$`":
                pieces.append(self._expansion(is_quoted=True))
            else:
                pieces.append(Piece(char, is_quoted=True))
                self._at += 1
        raise ShellSyntaxError

    def _expansion(self, *, is_quoted: bool) -> Piece:
        """Reads the expansion (variable or substitution) that begins at the current `$` or backtick, and
        returns it. `is_quoted`: whether the expansion is inside double quotes.
        """
        text, at = self._text, self._at
        if text[at] == "`":
            self._scripts.append(self._backticked())
            return Piece(None, is_quoted)
        if text.startswith(("$'", '$"'), at) and not is_quoted:
            return Piece(self._dollar_quoted(), is_quoted=True)
        if text.startswith(("$(", "${"), at):
            return self._bracketed(is_quoted=is_quoted)
        name = _NAME.match(text, at + 1)
        if name is None:
            self._at += 1
            return Piece("$", is_quoted)
        self._at = name.end()
        return _variable(name.group(), is_quoted=is_quoted)

    def _dollar_quoted(self) -> str:
        if self._text.startswith("$'", self._at):
            return self._ansi_quoted()
        self._at += 2
        return "".join("\0" if piece.text is None else piece.text for piece in self._double_quoted())

    def _bracketed(self, *, is_quoted: bool) -> Piece:
        is_arithmetic = self._text.startswith("$((", self._at)
        self._at += 1
        if self._text[self._at] == "(":
            inner = self._balanced("(", ")")
            # `$((cd x); ls)` is a subshell in a substitution, no sum.
            is_arithmetic = is_arithmetic and inner.endswith(")")
            self._scripts += _substitutions(inner) if is_arithmetic else [inner]
            return Piece("0" if is_arithmetic else None, is_quoted)
        inner = self._balanced("{", "}")
        if _SIMPLE_EXPANSION.match(inner):
            return _variable(inner, is_quoted=is_quoted)
        if demanded := _DEMANDED.match(inner):
            return _variable(demanded.group(1), is_quoted=is_quoted)
        self._scripts += _substitutions(inner)
        return Piece(None, is_quoted)

    def _ansi_quoted(self) -> str:
        start = self._at + 2
        end = start
        while end < len(self._text) and self._text[end] != "'":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise ShellSyntaxError
        self._at = end + 1
        return _ANSI.sub(_unescaped, self._text[start:end])

    def _backticked(self) -> str:
        start = end = self._at + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise ShellSyntaxError
        self._at = end + 1
        return re.sub(r"\\([`$\\])", r"\1", self._text[start:end])

    def _balanced(self, opening: str, closing: str) -> str:
        """Returns the text between the current opening bracket and the matching closing bracket. Moves the
        current position behind the closing bracket. Brackets in quotes do not count. Raises ShellSyntaxError
        if there is no matching bracket.
        """
        start, depth, cases = self._at + 1, 0, list[int]()
        at, text = self._at, self._text
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char == "'" and closing == ")":
                at = text.find("'", at + 1)
            elif char == '"':
                at = _end_of_double_quotes(text, at)
            elif char in "ce" and closing == ")":
                _note_case(text, at, depth, cases)
            elif char == opening:
                depth += 1
            elif char == closing and cases[-1:] != [depth]:
                depth -= 1
                if depth == 0:
                    self._at = at + 1
                    return text[start:at]
            if at < 0:
                break
            at += 1
        raise ShellSyntaxError

    def _read_heredocs(self) -> None:
        for position, drops_tabs in self._heredocs:
            token = self._tokens[position]
            delimiter = "".join(piece.text or "" for piece in token.pieces)
            body = self._heredoc(delimiter, drops_tabs=drops_tabs)
            is_literal = any(piece.is_quoted for piece in token.pieces)
            scripts = () if is_literal else tuple(_substitutions(body))
            self._tokens[position] = replace(token, scripts=scripts, body=body)
        self._heredocs = []

    def _heredoc(self, delimiter: str, *, drops_tabs: bool) -> str:
        lines: list[str] = []
        while self._at < len(self._text):
            line, _, _ = self._text[self._at :].partition("\n")
            self._at += len(line) + 1
            line = line.lstrip("\t") if drops_tabs else line
            if line == delimiter:
                break
            lines.append(line)
        return "\n".join(lines)


def _operator_at(text: str, at: int) -> str | None:
    return next((operator for operator in _OPERATORS if text.startswith(operator, at)), None)


def _variable(name: str, *, is_quoted: bool) -> Piece:
    if name == "IFS" and not is_quoted:
        return Piece(" ", variable=name)
    return Piece(None, is_quoted, variable=name)


def _substitutions(text: str) -> list[str]:
    """Returns the scripts in the substitutions, such as `$(…)`, that `text` contains. `text` is data and not
    a script, for example the text of a here-document, so only its substitutions run.
    """
    if "$" not in text and "`" not in text:
        return []
    quoted = text.replace('"', '\\"')
    return [script for token in tokenize(f'"{quoted}"') for script in token.scripts]


def _end_of_double_quotes(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at if at < len(text) else -1


def _note_case(text: str, at: int, depth: int, cases: list[int]) -> None:
    """Records whether a `case` statement begins or ends at the index `at` of the text. A closing parenthesis
    in such a statement may belong to a pattern, so the lexer must know the open statements.

    `depth`: the number of open parentheses at this index. `cases`: has one entry for each open `case`
    statement: the number of parentheses that were open at the beginning of the statement. The function adds
    or removes an entry.
    """
    if _CASE.match(text, at):
        cases.append(depth)
    elif cases and _ESAC.match(text, at):
        cases.pop()


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\0"
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ESCAPES.get(code, code)
