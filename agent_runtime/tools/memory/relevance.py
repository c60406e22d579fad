"""Finds the memory notes (texts that agents write for later conversations) that fit a question. Uses a
full-text search that ranks notes by BM25.
"""

import re
import sqlite3
from collections.abc import Sequence

from agent_runtime.tools.memory.notes import Note

MAX_WORDS = 64
_TITLE_WEIGHT = 4.0
_WORD = re.compile(r"\w+")
# Words that say nothing about a subject. If there are few notes, these words would decide the order.
_COMMON_WORDS = """
    about after all also and any are because been before but can could did does doing done for from had
    has have her him his how into its just let make may more most must need new not now off one only our
    out please put run same see should some such than that the their them then there these they this
    those too use using very want was way well were what when where which while who why will with work
    would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def most_relevant(notes: Sequence[Note], question: str, limit: int) -> list[Note]:
    """Returns the memory notes (texts that agents write for later conversations) that fit the question best,
    at most `limit`, the best first.

    Each returned note contains at least one word of the question, possibly with a different ending. Common
    words such as "the" and very short words do not count.
    """
    words = _words(question)
    if not notes or not words:
        return []
    by_name = {note.name: note for note in notes}
    with sqlite3.connect(":memory:") as database:
        database.execute(
            "CREATE VIRTUAL TABLE notes USING fts5("
            "name UNINDEXED, title, text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        rows = [(note.name, f"{note.name} {note.title}", note.text) for note in notes]
        database.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
        found = database.execute(
            "SELECT name FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 0, ?, 1), name LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), _TITLE_WEIGHT, limit),
        ).fetchall()
    database.close()
    return [by_name[name] for (name,) in found]


def _words(question: str) -> list[str]:
    words = (word.casefold() for word in _WORD.findall(question))
    telling = (word for word in words if word not in _COMMON and (len(word) > 2 or not word.isascii()))
    return list(dict.fromkeys(telling))[:MAX_WORDS]
