"""Finds the files and directories that a command's text names."""

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MAX_WORDS = 100
_MAX_WORD_CHARS = 4096


def named_paths(command: str, *, started_in: Path, ended_in: Path) -> list[Path]:
    """Returns the directory in which the command ended, and all paths that the words of the command could
    mean. The terminal tool reports these paths, so that the model gets the project's instructions for these
    files.

    `started_in`, `ended_in`: the directories in which the command started and ended. Each word is used twice:
    as a path relative to `ended_in`, and as a path relative to `started_in`. The function does not check
    whether files exist and does not replace variables. So the result may contain words that are not paths.
    """
    words = islice((word for word in _words(command) if 0 < len(word) <= _MAX_WORD_CHARS), MAX_WORDS)
    paths = [Path(word).expanduser() if word.startswith("~/") else Path(word) for word in words]
    named = [directory / path for directory in dict.fromkeys((ended_in, started_in)) for path in paths]
    return list(dict.fromkeys([ended_in, *(Path(os.path.normpath(path)) for path in named)]))


def _words(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command.replace("\0", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        for word in lexer:
            # For --file=src/a.py and OUT=build/x, yields the part after `=`, too.
            yield from dict.fromkeys((word, word.rpartition("=")[2]))
    except ValueError:  # a quote that is not closed: what came before it is known
        return
