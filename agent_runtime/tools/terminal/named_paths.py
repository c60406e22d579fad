"""Finds the files and directories that a command's text names."""

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MAX_WORDS = 100
_MAX_WORD_CHARS = 4096


def named_paths(command: str, *, started_in: Path, ended_in: Path) -> list[Path]:
    """Returns the paths that the words of a shell command may mean, and the directory in which the command
    ended. The terminal tool reports these paths. Then the model gets the project's instructions for them.

    `started_in`: the directory in which the shell was started. `ended_in`: the working directory of the shell
    after the command. A word that is a relative path may be relative to either directory, so both paths are
    returned. The function does not check whether files exist, and does not replace variables. So some
    returned paths may not exist.
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
