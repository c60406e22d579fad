"""Parses a skill from a file. The skill's fields come from the file's front matter (the YAML at the beginning
of the file); fields that are missing there, such as the name, are derived from the file's path.
"""

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_runtime.context.skill_inputs import SkillInput
from agent_runtime.context.skills import Skill
from agent_runtime.workspace.front_matter import UnusableFileError, split, text_of, texts

MAX_INPUTS = 20

_COMMA = re.compile(r",(?![^{}]*\})")
"""Matches a comma that is not between braces."""


def parse(path: Path, text: str, rules_below: Path | None = None) -> Skill:
    """Parses the text of a file and returns the skill. Raises UnusableFileError if the front matter is not
    valid, or if the file is a README.md.

    `rules_below`: the directory to which the globs of a path rule (an instruction for certain files) are
    relative. None means the agent's working directory.
    """
    if path.name.lower() == "readme.md":
        raise UnusableFileError("a README is for people")
    matter, body = split(text)
    paths = _globs(matter)
    is_on_request = path.name == "SKILL.md" and not paths
    triggers = () if paths else texts(matter.get("triggers"), "triggers")
    name = text_of(matter.get("name"), "name") or (path.parent.name if path.name == "SKILL.md" else path.stem)
    inputs = () if paths else _inputs(matter.get("inputs"))
    description = text_of(matter.get("description"), "description")
    if is_on_request and description is None:
        raise UnusableFileError("its front matter has no description, by which an agent could choose it")
    return Skill(
        name=name,
        type="agentskills" if is_on_request else "knowledge" if triggers or inputs or paths else "repo",
        content=body,
        # One with inputs can always be called by its name.
        triggers=tuple(dict.fromkeys((*triggers, f"/{name}"))) if inputs else triggers,
        inputs=inputs,
        paths=paths,
        paths_below=str(rules_below) if paths and rules_below else None,
        source=str(path),
        description=description,
        directory=str(path.parent) if is_on_request else None,
    )


def _inputs(value: object) -> tuple[SkillInput, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise UnusableFileError("`inputs` in its front matter is not a list of fields")
    if len(value) > MAX_INPUTS:
        raise UnusableFileError(f"it has more than {MAX_INPUTS} inputs")
    return tuple(map(_input, value))


def _input(one: dict[str, Any]) -> SkillInput:
    texts = {name: text_of(one.get(name), name) for name in ("name", "description", "default")}
    given = {name: text for name, text in texts.items() if text is not None}
    try:
        return SkillInput.model_validate({**given, "required": one.get("required", "default" not in given)})
    except ValidationError as error:
        where = ", ".join(f"`{part}`" for problem in error.errors() for part in problem["loc"])
        raise UnusableFileError(f"{where} of an input in its front matter is not valid") from error


def _globs(matter: dict[str, Any]) -> tuple[str, ...]:
    """Returns the globs of the files to which a path rule (an instruction for certain files) applies.
    `matter`: the front matter of the rule's file. It contains the globs as a list, or as one text with commas
    between the globs. Some other coding agents use the text form.
    """
    name = "paths" if "paths" in matter else "globs"
    given = matter.get(name)
    parts = _COMMA.split(given) if isinstance(given, str) else given
    return tuple(glob for part in texts(parts, name) if (glob := part.strip()))
