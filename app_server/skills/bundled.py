"""Reads the public skills that are part of Slipway. They are in the folder `skills/` at the top of the source
tree.
"""

from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from app_server.skills.catalogue import front_matter

DIRECTORY: Final = Path(__file__).parents[2] / "skills"


class ShippedSkill(BaseModel):
    """A public skill that is part of Slipway. path: the path of its SKILL.md relative to the folder `skills/`
    of the source tree, such as `review/SKILL.md`. text: the content of this file.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    description: str
    path: str
    text: str


@cache
def shipped_skills() -> tuple[ShippedSkill, ...]:
    """Returns the public skills that are part of this version of Slipway, sorted by name. The first call
    reads the files from the disk and blocks until this is done. Later calls return the stored result.
    """
    return tuple(_read(path) for path in sorted(DIRECTORY.glob("*/SKILL.md")))


def _read(path: Path) -> ShippedSkill:
    text = path.read_text(encoding="utf-8")
    matter = front_matter(text) or {}
    return ShippedSkill(
        name=path.parent.name,
        description=matter["description"],
        path=str(path.relative_to(DIRECTORY)),
        text=text,
    )
