"""What the skills on this server are called: for lists. An agent server alone reads what is in them."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel

from app_server.skills.files import SkillFile

_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


class ListedSkill(BaseModel):
    """`type`: `repo` is always told, `knowledge` at its triggers, `agentskills` on request.

    `source`: where it lies, as in `user/review.md`.
    """

    name: str
    type: str
    source: str
    triggers: list[str] | None = None


def listed(files: Iterable[SkillFile]) -> list[ListedSkill]:
    """By name. A file that cannot be read as a skill is left out: a conversation's report says why."""
    found = [skill for file in files if file.text is not None and (skill := _skill(file.path, file.text))]
    return sorted(found, key=lambda skill: (skill.name, skill.source))


def _skill(shown_path: str, text: str) -> ListedSkill | None:
    path = PurePosixPath(shown_path)
    matter = _matter(text)
    if matter is None or path.name.lower() == "readme.md":
        return None
    is_folder = path.name == "SKILL.md"
    name, has_paths = matter.get("name"), bool(matter.get("paths") or matter.get("globs"))
    given = matter.get("triggers")
    triggers = [str(one) for one in given] if isinstance(given, list) and not has_paths else []
    on_request = is_folder and not has_paths
    if on_request and not matter.get("description"):
        return None
    depends = triggers or has_paths or matter.get("inputs")
    return ListedSkill(
        name=str(name) if name else (path.parent.name if is_folder else path.stem),
        type="agentskills" if on_request else "knowledge" if depends else "repo",
        source=shown_path,
        triggers=triggers or None,
    )


def _matter(text: str) -> dict[str, Any] | None:
    """The fields at the top of the file; None: they make no sense."""
    match = _FRONT_MATTER.match(text.strip())
    if match is None:
        return {}
    # Loaded where first used: the server starts without it.
    import yaml

    try:
        matter = yaml.safe_load(match[1]) or {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return matter if isinstance(matter, dict) else None
