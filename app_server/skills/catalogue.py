"""Lists the names and kinds of the skills on this server. Only the fields at the top of a skill file are read
here. Only an agent server reads its whole content.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel

from app_server.skills.files import SkillFile

_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


class ListedSkill(BaseModel):
    """A skill in a list. `type`: `repo` is always given to the agent, `knowledge` at its trigger words,
    `agentskills` on request.

    `source`: the path of the file, as in `user/review.md`.
    """

    name: str
    type: str
    source: str
    triggers: list[str] | None = None


def listed(files: Iterable[SkillFile]) -> list[ListedSkill]:
    """Returns the skills in these files, sorted by name. A file that is not a valid skill is left out."""
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
    """Returns the number of characters of the YAML front matter at the top of the file. This function does
    not parse the YAML, so it is much faster than `front_matter`.
    """
    match = _FRONT_MATTER.match(text.strip())
    return len(match[1]) if match else 0


def plain_text(value: object) -> str | None:
    """Returns a field of the front matter as text, if it is a text or a number. Returns None for other
    values, and for a text that UTF-8 cannot encode, which YAML escapes can produce.
    """
    # The text of a list could be endless: one in YAML may contain another one many times.
    if not isinstance(value, str | int | float):
        return None
    text = str(value)
    return text if text.encode(errors="replace").decode() == text else None


def front_matter(text: str) -> dict[str, Any] | None:
    """Returns the fields of the YAML front matter at the top of the file. Returns an empty dictionary if
    there is no front matter, and None if it cannot be parsed.
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
