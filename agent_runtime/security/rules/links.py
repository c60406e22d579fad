"""Tracks the symbolic links and scripts that the commands of one command line create. The rules check the
later commands of this command line as if they named the targets of the links and contained the text of the
scripts.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_runtime.security.shell.parser import Redirect
from agent_runtime.security.shell.words import Word

if TYPE_CHECKING:
    from agent_runtime.security.shell.calls import Call

MAX_SCRIPT_BYTES = 100_000
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>"})


def made_link(call: "Call") -> tuple[str, str] | None:
    """Returns the path of the link that `ln -s` creates, and the path to which the link points. Returns None
    for other calls, or if one of the paths is unknown.
    """
    words = call.operands
    if call.name != "ln" or not words or not call.has("-s", "--symbolic"):
        return None
    target = call.path(words[0])
    name = words[1] if len(words) > 1 else Word(words[0].text.rstrip("/").rsplit("/", 1)[-1])
    link_path = call.path(name)
    return None if target is None or link_path is None else (link_path, target)


def through(call: "Call", links: Mapping[str, str]) -> "Call":
    """Returns a copy of the command in which symbolic links in paths are replaced by their targets. `links`:
    the target of each link, by the path of the link.
    """
    if not links or call.name == "ln":
        return call
    arguments = tuple(_led(word, call, links) for word in call.arguments)
    redirects = tuple(Redirect(one.operator, _led(one.target, call, links)) for one in call.redirects)
    command = replace(call.command, redirects=redirects)
    return replace(call, arguments=arguments, command=command)


def _led(word: Word, call: "Call", links: Mapping[str, str]) -> Word:
    path = None if word.text.startswith("-") else call.path(word)
    if path is None:
        return word
    for link_path, target in links.items():
        # `rm x` removes the link, `rm x/` the directory that it leads to.
        is_itself = path == link_path and (word.text.endswith("/") or call.name in {"cd", "pushd"})
        if is_itself or path.startswith(f"{link_path}/"):
            led = f"{target.rstrip('/')}/{path.removeprefix(link_path).lstrip('/')}"
            return replace(word, text=led if led == "/" else led.rstrip("/"))
    return word


def written(call: "Call", text: str | None) -> dict[str, str | None]:
    """Returns the files to which this command writes its output, with a redirect or with `tee`. The keys are
    the paths of the files. All values are `text`. `text`: the text that the command writes; None if it is
    unknown.
    """
    words = [one.target for one in call.redirects if one.operator in _WRITING]
    if call.name == "tee":
        words += call.operands
    return {path: text for word in words if (path := call.path(word)) is not None}


def on_disk(path: str) -> str | None:
    """Returns the text of a shell script on the disk. Returns None if there is no such file, or if its first
    line names another interpreter. Also returns None if the file is not readable, not UTF-8, or larger than
    MAX_SCRIPT_BYTES.
    """
    script = Path(path)
    try:
        if not script.is_file() or script.stat().st_size > MAX_SCRIPT_BYTES:
            return None
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None  # a file that cannot be read is not judged by its content
    first = text.partition("\n")[0]
    return None if first.startswith("#!") and "sh" not in first else text
