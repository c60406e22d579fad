"""Finds the skills in the files of a repository, and explains why some skills cannot be used. The functions
here do no I/O.

A skill is a directory that contains a SKILL.md file in the format of https://agentskills.io/specification.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from app_server.marketplaces.index import Files
from app_server.skills.catalogue import front_matter, front_matter_size

MAX_SKILLS: Final = 200
MAX_EXAMINED: Final = 300
MAX_PROBLEMS: Final = 50
MAX_FRONT_MATTER_CHARACTERS: Final = 4096
MAX_DESCRIPTION_CHARACTERS: Final = 1024
MAX_PATH_CHARACTERS: Final = 1000
SKILL_FILE: Final = "SKILL.md"
_SHOWN_CHARACTERS = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Control characters, text direction marks, halves of characters and tags: people do not see them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\\u202a-\\u202e\\u2066-\\u2069\\U000e0000-\\U000e007f]"
)


@dataclass(frozen=True)
class FoundSkill:
    """A usable skill that was found in a repository.

    path: the path of its SKILL.md. text: the content of its SKILL.md. other_files: the number of other files
    in the directory of the skill. Agents do not get these other files.
    """

    name: str
    description: str
    path: str
    text: str
    other_files: int


@dataclass(frozen=True)
class SkillFolders:
    """All skills that were found in a repository.

    skills: the usable skills, sorted by name. problems: sentences that say why other skills cannot be used.
    """

    skills: tuple[FoundSkill, ...]
    problems: tuple[str, ...]


class _Refused(Exception):
    """The error that is raised when a skill in a repository cannot be used. The message says why."""


def skill_folders(files: Files) -> SkillFolders:
    """Finds the skills in the files of a repository. Returns the usable skills, at most MAX_SKILLS, and
    sentences that say why the other skills cannot be used. A skill cannot be used if another skill in the
    repository has the same name.
    """
    found: dict[str, FoundSkill] = {}
    doubled: dict[str, list[str]] = {}
    problems = list(_left_out(files))
    paths = sorted(one for one in files.texts if PurePosixPath(one).name == SKILL_FILE)
    if len(paths) > MAX_EXAMINED:
        problems.append(f"Only {MAX_EXAMINED} of {len(paths)} skills are examined.")
    for path in paths[:MAX_EXAMINED]:
        try:
            skill = _skill(path, files)
        except _Refused as error:
            problems.append(f"{_printable_path(path)} {error}.")
            continue
        if skill.name in doubled:
            doubled[skill.name].append(path)
        elif (first := found.pop(skill.name, None)) is not None:
            doubled[skill.name] = [first.path, path]
        elif len(found) < MAX_SKILLS:
            found[skill.name] = skill
        else:
            problems.append(f"{path} is left out: a repository may have {MAX_SKILLS} skills.")
    problems += [f"{', '.join(twins)} have the same name {name}." for name, twins in doubled.items()]
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS - 1 :] = [f"And {len(problems) - MAX_PROBLEMS + 1} more."]
    return SkillFolders(tuple(found[name] for name in sorted(found)), tuple(problems))


def _left_out(files: Files) -> Iterator[str]:
    """Yields one sentence for each file that was not read and may belong to a skill. The sentence names the
    file and says why it was not read.

    Such a file is a SKILL.md, or its name has no dot. A name without a dot can belong to a symbolic link to
    the directory of a skill, or to a git submodule.
    """
    for path, why in sorted(files.left_out.items()):
        last = PurePosixPath(path).name
        if last == SKILL_FILE or "." not in last:
            yield f"{_printable_path(path)} {why}."


def _printable_path(path: str) -> str:
    text = path if path.isprintable() else ascii(path)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _skill(path: str, files: Files) -> FoundSkill:
    text = files.texts[path]
    if not path.isprintable() or len(path) > MAX_PATH_CHARACTERS:
        raise _Refused(f"has a path with unusual characters or more than {MAX_PATH_CHARACTERS} characters")
    matter = _matter(text)
    directory = PurePosixPath(path).parent
    name = matter.get("name", directory.name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _Refused("has no usable name: up to 64 letters, digits, dots, dashes and underscores")
    below = f"{directory}/" if directory.parts else ""
    if any(f"{below}{one}" in files.paths for one in ("hooks.json", "hooks/hooks.json")):
        raise _Refused("lies beside hooks, which only a plugin may have")
    # A skill at the top has the whole repository beside it, which is not a part of it.
    others = sum(one.startswith(below) for one in files.paths) - 1 if below else 0
    return FoundSkill(name, _description(matter.get("description")), path, text, others)


def _matter(text: str) -> dict[str, Any]:
    if _HIDDEN.search(text):
        raise _Refused("has characters that are not visible to a reader")
    if front_matter_size(text) > MAX_FRONT_MATTER_CHARACTERS:
        raise _Refused(f"has front matter of more than {MAX_FRONT_MATTER_CHARACTERS} characters")
    matter = front_matter(text)
    if matter is None:
        raise _Refused("has front matter that is not valid YAML")
    if matter.get("hooks"):
        raise _Refused("has hooks, which only a plugin may have")
    return matter


def _description(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Refused("has no description, by which an agent could choose it")
    if _HIDDEN.search(value):
        raise _Refused("has a description with characters that are not visible to a reader")
    if len(value) > MAX_DESCRIPTION_CHARACTERS:
        raise _Refused(f"has a description of more than {MAX_DESCRIPTION_CHARACTERS} characters")
    return " ".join(value.split())
