"""Finds the texts that a shell command prints or reads, if the shell script itself contains these texts."""

from agent_runtime.security.shell.parser import Command
from agent_runtime.security.shell.words import Word


def fed_text(command: Command) -> str | None:
    """Returns the text that the command reads from its standard input. Returns None if the text is not known.

    The text is known in two cases: the script contains a here-document for the command; or a command such as
    `echo` prints a text of the script into the pipe.
    """
    if command.stdin is not None or command.source is None:
        return command.stdin
    return printed_text(command.source)


def printed_text(source: Command) -> str | None:
    """Returns the text that the command `source` prints, for example `a b` for `echo a b`. The command `tee`,
    and `cat` without arguments, print their standard input. Returns None if the printed text is not known
    from the script.
    """
    if source.name in {"cat", "tee"} and (len(source.words) == 1 or source.name == "tee"):
        return fed_text(source)
    if source.name not in {"echo", "printf"}:
        return None
    words = tuple(word for word in source.words[1:] if not word.text.startswith("-"))
    if source.name == "printf" and words and words[0].text in {"%s", "%s\\n", "%s\n", "%b"}:
        words = words[1:]
    text = known_text(words)
    return None if text is None or "%" in text else text.replace("\\n", "\n").replace("\\t", "\t")


def known_text(words: tuple[Word, ...]) -> str | None:
    """Returns the words as one text. Returns None if a word is not known in advance."""
    return " ".join(word.text for word in words) if all(word.is_known for word in words) else None
