"""Defines the words (arguments) of a shell command, with their values if these are known in advance."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_BRACES = re.compile(r"^([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)$", re.DOTALL)
_GLOB = re.compile(r"[*?]|\[.+\]")


@dataclass(frozen=True)
class Piece:
    """A part of a word in a shell text. `text`: its value; None if the value is only known when the command
    runs. `variable`: the name of the variable, if the part is a variable.
    """

    text: str | None
    is_quoted: bool = False
    variable: str | None = None


@dataclass(frozen=True)
class Word:
    """One argument of a shell command, with its quotes removed. A null character in `text` stands for an
    unknown part.
    """

    text: str
    is_known: bool = True
    has_glob: bool = False


Pieces = tuple[Piece, ...]


def expand(pieces: Pieces, variables: Mapping[str, str | None]) -> list[Word]:
    """Returns the arguments to which a word of a shell command expands. There are several arguments if the
    word contains braces or variables with blanks in their values.

    `pieces`: the parts of the word. `variables`: the values of variables by name; None for an unknown value.
    """
    known = [_with_value(piece, variables) for piece in pieces]
    braced = _braces(known)
    if braced is not None:
        return [word for one in braced for word in expand((Piece(one),), variables)]
    return _split(known)


def value_of(pieces: Pieces, variables: Mapping[str, str | None]) -> str | None:
    """Returns the value that a variable gets when a shell word is assigned to it. Returns None if a part of
    the value is not known before the command runs.

    `pieces`: the parts of the word. `variables`: the known values of variables; None for an unknown value.
    """
    text = text_of(pieces, variables)
    return None if "\0" in text else text


def text_of(pieces: Pieces, variables: Mapping[str, str | None]) -> str:
    """Returns the text of the shell word that consists of `pieces`, with the values of its variables. A null
    character stands for a part whose value is only known when the command runs.
    """
    parts = (_with_value(piece, variables).text for piece in pieces)
    return "".join("\0" if part is None else part for part in parts)


def _with_value(piece: Piece, variables: Mapping[str, str | None]) -> Piece:
    if piece.variable is None or piece.text is not None:
        return piece
    value = variables.get(piece.variable)
    return Piece(value, piece.is_quoted, piece.variable)


def _braces(pieces: list[Piece]) -> list[str] | None:
    """Returns the texts to which braces as in `{rm,-rf,/}` expand. Returns None if the word is not plain text
    with one pair of braces.
    """
    if any(piece.is_quoted or piece.text is None or piece.variable for piece in pieces):
        return None
    found = _BRACES.match("".join(piece.text or "" for piece in pieces))
    if found is None:
        return None
    before, choices, after = found.groups()
    return [f"{before}{choice}{after}" for choice in choices.split(",")]


def _split(pieces: Iterable[Piece]) -> list[Word]:
    """Joins the pieces of a shell word to arguments, and returns these. The values of unquoted variables are
    split at blanks. For example, `x$v` gives `xa` and `b` if the value of `v` is `a b`. Text that was typed
    in the command is not split.
    """
    words: list[Word] = []
    text, is_known, has_glob, is_open = "", True, False, False
    for piece in pieces:
        fields = _fields(piece)
        for index, field in enumerate(fields):
            if index and is_open:
                words.append(Word(text, is_known, has_glob))
                text, is_known, has_glob = "", True, False
            text += "\0" if field is None else field
            is_known = is_known and field is not None
            has_glob = has_glob or (not piece.is_quoted and bool(_GLOB.search(field or "")))
            is_open = True
        if _falls_apart(piece) and not fields and is_open and text:
            words.append(Word(text, is_known, has_glob))
            text, is_known, has_glob, is_open = "", True, False, False
    if is_open:
        words.append(Word(text, is_known, has_glob))
    return words


def _falls_apart(piece: Piece) -> bool:
    return piece.variable is not None and not piece.is_quoted and piece.text is not None


def _fields(piece: Piece) -> list[str | None]:
    if piece.text is None or not _falls_apart(piece):
        return [piece.text]
    return list(piece.text.split())
