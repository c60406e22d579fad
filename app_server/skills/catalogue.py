"""Parses the YAML front matter at the top of skill files, to list the names and types of the skills on this
server. The app server parses only the front matter. The agent server parses the whole file.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel

from app_server.skills.files import SkillFile

# Blanks at the end of a line, such as "\r", do not count. They must not include "\n": if they did, the time
# would grow with the square of the number of empty lines.
_FRONT_MATTER = re.compile(r"\A---[^\S\n]*+\n(.*?)\n---[^\S\n]*+(?:\n|\Z)", re.DOTALL)


class ListedSkill(BaseModel):
    """A skill in a list of skills, without its text.

    `type`: one of three values that say when the agent gets the text of the skill. A skill of type `repo` is
    always in the prompt. A skill of type `knowledge` is added when a message contains one of its trigger
    words. It is also added when a tool result involves a file that matches one of its paths. A skill of type
    `agentskills` is listed with its description, and the agent reads the text when it needs the skill.

    `source`: the path of the skill file, such as `user/review.md`. `triggers`: the trigger words; None if
    there are no trigger words.
    """

    name: str
    type: str
    source: str
    triggers: list[str] | None = None


def listed(files: Iterable[SkillFile]) -> list[ListedSkill]:
    """Returns the skills in these files, sorted by name. Files that contain no valid skill, or that could not
    be read (so that `text` is None), are left out.
    """
    found = [skill for file in files if file.text is not None and (skill := _skill(file.path, file.text))]
    return sorted(found, key=lambda skill: (skill.name, skill.source))


def _skill(shown_path: str, text: str) -> ListedSkill | None:
    path = PurePosixPath(shown_path)
    matter = front_matter(text)
    if matter is None or path.name.lower() == "readme.md":
        return None
    is_folder = path.name == "SKILL.md"
    name, has_paths = plain_text(matter.get("name")), bool(matter.get("paths") or matter.get("globs"))
    given = matter.get("triggers")
    texts = [plain_text(one) for one in given] if isinstance(given, list) and not has_paths else []
    triggers = [one for one in texts if one is not None]
    on_request = is_folder and not has_paths
    if on_request and not matter.get("description"):
        return None
    depends = triggers or has_paths or matter.get("inputs")
    return ListedSkill(
        name=name or (path.parent.name if is_folder else path.stem),
        type="agentskills" if on_request else "knowledge" if depends else "repo",
        source=shown_path,
        triggers=triggers or None,
    )


def front_matter_size(text: str) -> int:
    """Returns the number of characters of the YAML front matter at the top of a skill file. Returns 0 if
    there is no front matter. This function does not parse the YAML, so it is much faster than `front_matter`.
    """
    match = _FRONT_MATTER.match(text.strip())
    return len(match[1]) if match else 0


def plain_text(value: object) -> str | None:
    """Converts a value from the YAML front matter of a skill to text. The value must be a text or a number.

    Returns None for other values. Also returns None for a text that cannot be encoded as UTF-8. YAML escapes
    can produce such a text.
    """
    # The text of a list could be endless: one in YAML may contain another one many times.
    if not isinstance(value, str | int | float):
        return None
    text = str(value)
    return text if text.encode(errors="replace").decode() == text else None


def front_matter(text: str) -> dict[str, Any] | None:
    """Parses the YAML front matter at the top of a skill file and returns its fields. `text`: the content of
    the file.

    Returns an empty dictionary if there is no front matter. Returns None if the front matter is not valid
    YAML or is not a mapping.
    """
    match = _FRONT_MATTER.match(text.strip())
    if match is None:
        return {}
    # Loaded at its first use, so that the server starts faster.
    import yaml

    try:
        matter = yaml.safe_load(match[1]) or {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return matter if isinstance(matter, dict) else None
