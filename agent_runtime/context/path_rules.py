"""Selects the path rules that the model gets. A path rule is an instruction that applies only to certain
files. The model gets a path rule together with the first tool result that involves a matching file.

The tool results in the event log contain the text of each path rule that the model has got, and this text
contains the rule's name. So the log alone shows which path rules the model already has. When a summary
replaces a tool result that contains a path rule, the rule stays in the prompt.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from agent_runtime.context.skills import Skill
from agent_runtime.context.system_prompt import render
from agent_runtime.events.content import TextContent
from agent_runtime.tools.search.scan import glob_regex

MAX_REMINDER_CHARS = 64 * 1024
"""The maximum number of characters of path rules that are repeated in the prompt after a summary has replaced
older events. Path rules beyond this limit are repeated only by name.
"""

_OPENING = re.compile(r'<path_rule name=("(?:[^"\\]|\\.)*")>')
_SPECIAL = re.compile(r"([*?\[{])")


def whole_directory(relative: Path) -> str:
    """Returns the glob that matches all files in a directory and below it. Special characters in the
    directory's name are escaped. `relative`: the directory's path, relative to the root of the repository.
    """
    return _SPECIAL.sub(r"[\1]", relative.as_posix()) + "/**"


def rules_for(
    touched: Iterable[Path], skills: Iterable[Skill], *, working_dir: Path, given: Collection[str]
) -> list[Skill]:
    """Returns the path rules (instructions for certain files) that match at least one of the files in
    `touched` and that the model does not have yet. `touched`: the absolute paths of the files that a tool
    call has read or changed. `skills`: all skills; those with globs of files are path rules. `given`: the
    names of the rules that the model already has.
    """
    real = [Path(os.path.realpath(path)) for path in touched]
    wanted = [skill for skill in skills if skill.paths and skill.name not in given]
    base_paths = {skill.paths_below or str(working_dir) for skill in wanted}
    # Computed once for each base path: a project may have hundreds of rules, and a command many words.
    below = {base_path: _paths_below(Path(os.path.realpath(base_path)), real) for base_path in base_paths}
    return [skill for skill in wanted if _holds_for(skill, below[skill.paths_below or str(working_dir)])]


def render_rule(rule: Skill) -> TextContent:
    return TextContent(
        text=render("path_rule.j2", name=json.dumps(rule.name), rule=rule, text=rule.prompt_text())
    )


def names_in(parts: Sequence[TextContent]) -> list[str]:
    """Returns the names of the path rules (instructions for certain files) that a tool result contains.
    `parts`: the content of the tool result.
    """
    found = (_OPENING.match(part.text) for part in parts)
    return [json.loads(match[1]) for match in found if match]


def texts_in(parts: Sequence[TextContent]) -> list[str]:
    return [part.text for part in parts if _OPENING.match(part.text)]


def reminder(texts: Sequence[str]) -> str:
    """Returns a text that repeats path rules (instructions for certain files) in the prompt. This is needed
    when a summary has replaced the tool results that contained these rules. The newest rules are repeated in
    full, older rules only by name. `texts`: the texts of the rules, oldest first.
    """
    full_texts: list[str] = []
    room = MAX_REMINDER_CHARS
    for text in reversed(texts):
        room -= len(text)
        if room < 0:
            break
        full_texts.insert(0, text)
    left_out = names_in([TextContent(text=text) for text in texts[: len(texts) - len(full_texts)]])
    return render("path_rules_kept.j2", rules=full_texts, left_out=left_out)


def _paths_below(directory: Path, paths: Iterable[Path]) -> list[str]:
    return [path.relative_to(directory).as_posix() for path in paths if path.is_relative_to(directory)]


def _holds_for(rule: Skill, paths: Iterable[str]) -> bool:
    return any(_matches(glob, path) for path in paths for glob in rule.paths)


def _matches(glob: str, relative: str) -> bool:
    regex = _regex(glob)
    return regex is not None and regex.fullmatch(relative) is not None


@lru_cache(maxsize=1024)
def _regex(glob: str) -> re.Pattern[str] | None:
    """Converts a glob to a regular expression for paths. A glob has the same meaning as in a .gitignore file.
    If it contains no slash, it matches a file or directory at any depth. If it matches a directory, it also
    matches everything in this directory. Returns None if the glob is not valid.
    """
    plain = glob.removeprefix("./").removesuffix("/**") or "**"
    anchored_glob = plain.strip("/") if "/" in plain or plain != glob.removeprefix("./") else f"**/{plain}"
    try:
        return re.compile(f"{glob_regex(anchored_glob)}(?:/.*)?", re.DOTALL)
    except re.error:
        return None
