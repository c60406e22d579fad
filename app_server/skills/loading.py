"""Explains which skills of this server a new conversation loads, and why. The functions here do no I/O."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from app_server.skills.catalogue import listed
from app_server.skills.files import Origin, SkillFile
from app_server.skills.models import EVERYWHERE

_WHEN = {
    "repo": "It has no triggers, so it is always in the system prompt.",
    "knowledge": "It is added when a message has one of its triggers, or a result one of its paths.",
    "agentskills": "It is listed by its description; the agent reads it when it needs it.",
}


class SkillLoading(BaseModel):
    """A skill file of this server, with the information whether a new conversation loads the skill and why.

    name: the name of the skill; None if the file is not a valid skill. path: the path that users see for the
    file, such as `user/review.md`. is_loaded: whether a new conversation loads the skill. reason: if the
    skill is not loaded, a sentence that says why; if it is loaded, a sentence that says when the agent gets
    its text.
    """

    name: str | None
    origin: Origin
    path: str
    is_loaded: bool
    reason: str


def loading(files: Iterable[SkillFile], disabled: Mapping[str, str]) -> list[SkillLoading]:
    """Returns for each skill file whether a new conversation loads the skill, with the reason.

    `files`: the skill files that one user's conversations get, in the order of their priority. If two files
    contain skills with the same name, only the first usable file is loaded. `disabled`: the skills that the
    user has switched off. The key is the skill's name. The value is the repository for which the skill is
    switched off; an empty text (EVERYWHERE) means all conversations.
    """
    loaded: dict[str, str] = {}
    found: list[SkillLoading] = []
    for file in files:
        name, when = _read(file)
        reason = _reason_against(file, name, loaded, disabled)
        if reason is None and name is not None:
            loaded[name] = file.path
        found.append(
            SkillLoading(
                name=name, origin=file.origin, path=file.path, is_loaded=reason is None, reason=reason or when
            )
        )
    return found


def _read(file: SkillFile) -> tuple[str | None, str]:
    skills = listed([file])
    return (skills[0].name, _WHEN[skills[0].type]) if skills else (None, "")


def _reason_against(
    file: SkillFile, name: str | None, loaded: Mapping[str, str], disabled: Mapping[str, str]
) -> str | None:
    if file.problem is not None:
        return f"{file.problem[:1].upper()}{file.problem[1:]}."
    if name is None:
        return "It is not a valid skill: a README, front matter that is not YAML, or no description."
    if name in disabled:
        where = disabled[name]
        return "You have switched it off." if where == EVERYWHERE else f"You have switched it off in {where}."
    if name in loaded:
        return f"{loaded[name]} has the same name and comes first."
    return None
