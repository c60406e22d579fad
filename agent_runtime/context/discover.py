"""Finds what a project, a user and a client tell the agent. One order: what is named first wins.

1. what the client sent,
2. the project: instructions and skills of the working directory, then those of its repository's root,
3. the user's own skills.

Blocking, but bounded: few directories are looked at and large files are left out. Whatever
lies there, the rest is found: what cannot be used is reported.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_runtime.context.skills import AgentContext, Finding, ProjectContext, Skill

INSTRUCTION_FILES = ("AGENTS.md", "AGENT.md", "CLAUDE.md", "GEMINI.md", ".cursorrules")
PROJECT_DIRECTORIES = (".openhands/skills", ".agents/skills", ".openhands/microagents")
USER_DIRECTORIES = (".openhands/skills", ".agents/skills")

MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 1024 * 1024
MAX_NESTED_DEPTH = 4
MAX_DIRECTORIES = 500
_NOT_WALKED = {"node_modules", "vendor", "third_party", "dist", "build", "target", "venv", "__pycache__"}

_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


class _UnusableError(Exception):
    """A file that cannot be loaded, and why."""


@dataclass
class _Found:
    """What has been loaded so far, and the report on everything looked at."""

    disabled: frozenset[str] = frozenset()
    skills: dict[str, Skill] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    total_bytes: int = 0

    def add(self, skill: Skill, why: str) -> None:
        where = skill.source or skill.name
        if skill.name in self.disabled:
            self.leave_out(where, "its name is in disabled_skills", skill.name)
        elif (known := self.skills.get(skill.name)) is not None:
            self.leave_out(
                where, f"{known.source or 'the client'} has the same name and comes first", skill.name
            )
        elif (twin := self._same_text(skill)) is not None:
            self.leave_out(where, f"{twin.source or twin.name} has the same text", skill.name)
        else:
            self.skills[skill.name] = skill
            self.findings.append(Finding(path=where, name=skill.name, is_loaded=True, reason=why))

    def leave_out(self, path: str, reason: str, name: str | None = None) -> None:
        self.findings.append(Finding(path=path, name=name, is_loaded=False, reason=reason))

    def result(self) -> ProjectContext:
        return ProjectContext(
            skills=tuple(self.skills.values()),
            nested_instructions=tuple(self.nested),
            findings=tuple(self.findings),
        )

    def _same_text(self, skill: Skill) -> Skill | None:
        # Projects link CLAUDE.md to AGENTS.md, so that every agent finds its own.
        if skill.type != "repo":
            return None
        return next((one for one in self.skills.values() if one.content == skill.content), None)


def discover(context: AgentContext, working_dir: Path, *, home: Path | None = None) -> ProjectContext:
    """What an agent that works in `working_dir` is told. pydantic.ValidationError for a client's bad one."""
    found = _Found(disabled=frozenset(context.disabled_skills))
    for given in context.skills:
        found.add(Skill.of_protocol(given), "sent by the client")
    if context.load_project_skills:
        _add_project(found, working_dir.resolve())
    if context.load_user_skills:
        own = home or Path.home()
        for directory in USER_DIRECTORIES:
            _add_skills(found, own / directory, own, "a skill of the user's own")
    return found.result()


def _add_project(found: _Found, working_dir: Path) -> None:
    root = _repository_root(working_dir)
    for directory in dict.fromkeys([working_dir, root]):
        for name in INSTRUCTION_FILES:
            _add_instructions(found, directory / name, root)
        for below in PROJECT_DIRECTORIES:
            _add_skills(found, directory / below, root, "a skill of the project")
    for path in _nested_instructions(working_dir):
        relative = path.relative_to(working_dir)
        found.nested.append(str(relative))
        reason = f"named in the system prompt: it holds below {relative.parent}/"
        found.findings.append(Finding(path=str(path), name=str(relative), is_loaded=True, reason=reason))


def _repository_root(working_dir: Path) -> Path:
    """The directory of the repository it lies in; itself if it lies in none."""
    return next((one for one in (working_dir, *working_dir.parents) if (one / ".git").exists()), working_dir)


def _add_instructions(found: _Found, path: Path, root: Path) -> None:
    if not os.path.lexists(path):
        return
    try:
        text = _read(found, path, root)
    except _UnusableError as error:
        found.leave_out(str(path), str(error))
        return
    skill = Skill(name=str(path.relative_to(root)), type="repo", content=text, source=str(path))
    found.add(skill, "instructions of the project: always in the system prompt")


def _add_skills(found: _Found, directory: Path, root: Path, whose: str) -> None:
    try:
        paths = _skill_files(directory)
    except OSError as error:
        found.leave_out(str(directory), f"it cannot be read: {error.strerror}")
        return
    for path in paths:
        if path.name.lower() == "readme.md":
            found.leave_out(str(path), "a README is for people")
            continue
        try:
            skill = _parse(path, _read(found, path, root))
        except _UnusableError as error:
            found.leave_out(str(path), str(error))
        else:
            found.add(skill, f"{whose}: {_WHEN[skill.type]}")


_WHEN = {
    "repo": "without triggers, so always in the system prompt",
    "knowledge": "added to the first message that has one of its triggers",
    "agentskills": "listed in the system prompt, read with invoke_skill",
}


def _skill_files(directory: Path) -> list[Path]:
    """`*.md`, and `SKILL.md` in directories of their own, by name."""
    if not directory.is_dir():
        return []
    entries = sorted(path for path in directory.iterdir() if _is_utf8(path.name))[:MAX_DIRECTORIES]
    own = [path / "SKILL.md" if path.is_dir() else path for path in entries]
    return [path for path in own if path.suffix == ".md" and os.path.lexists(path)]


def _read(found: _Found, path: Path, root: Path) -> str:
    if not path.is_file():  # a pipe would keep us waiting for ever
        raise _UnusableError("it is not a file")
    if not path.resolve().is_relative_to(root.resolve()):
        raise _UnusableError("it is a link that leads out of the project")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _UnusableError(f"it is larger than {MAX_FILE_BYTES // 1024} KiB")
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise _UnusableError("it is not UTF-8 text") from error
    except OSError as error:
        raise _UnusableError(f"it cannot be read: {error.strerror}") from error
    if not text:
        raise _UnusableError("it is empty")
    found.total_bytes += len(text.encode())
    if found.total_bytes > MAX_TOTAL_BYTES:
        raise _UnusableError(f"with the others it is too much: over {MAX_TOTAL_BYTES // 1024} KiB")
    return text


def _parse(path: Path, text: str) -> Skill:
    """The skill of a file: what its front matter says, the rest from where it lies."""
    matter, body = _split(text)
    is_on_request = path.name == "SKILL.md"
    triggers = _texts(matter.get("triggers"), "triggers")
    description = _text(matter.get("description"), "description")
    if is_on_request and description is None:
        raise _UnusableError("its front matter has no description, by which an agent could choose it")
    return Skill(
        name=_text(matter.get("name"), "name") or (path.parent.name if is_on_request else path.stem),
        type="agentskills" if is_on_request else "knowledge" if triggers else "repo",
        content=body,
        triggers=triggers,
        source=str(path),
        description=description,
        directory=str(path.parent) if is_on_request else None,
    )


def _split(text: str) -> tuple[dict[str, Any], str]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    # Loaded where the first skill is read: many projects have none.
    import yaml

    try:
        matter = yaml.safe_load(match[1]) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # as for the 99th of a month
        raise _UnusableError("its front matter is not valid YAML") from error
    if not isinstance(matter, dict):
        raise _UnusableError("its front matter is not a list of fields")
    return matter, text[match.end() :].strip()


def _texts(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise _UnusableError(f"`{name}` in its front matter is not a list")
    return tuple(text for one in value if (text := _text(one, name)) is not None)


def _text(value: object, name: str) -> str | None:
    # Never str() of anything else: a few lines of YAML can stand for a list with a billion members.
    if value is None:
        return None
    if not isinstance(value, str | int | float) or not _is_utf8(str(value)):
        raise _UnusableError(f"`{name}` in its front matter is not a text")
    return str(value)


def _is_utf8(text: str) -> bool:
    """Names of files, and escapes in YAML, may hold what UTF-8 has no bytes for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _nested_instructions(top: Path) -> list[Path]:
    """Instruction files below `top`, one per directory: the first of their order. Bounded."""
    firsts = (
        next(filter(Path.is_file, map(directory.joinpath, INSTRUCTION_FILES)), None)
        for directory in _walk(top)
    )
    return [path for path in firsts if path is not None]


def _walk(top: Path) -> Iterator[Path]:
    """Directories below `top`, nearest first, up to a number and a depth; none hidden or generated."""
    level: Iterable[Path] = [top]
    seen = 0
    for _ in range(MAX_NESTED_DEPTH):
        following = [child for directory in level for child in _children(directory)]
        for child in following:
            seen += 1
            if seen > MAX_DIRECTORIES:
                return
            yield child
        level = following


def _children(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            names = [e.name for e in entries if e.is_dir(follow_symlinks=False) and _is_walked(e.name)]
    except OSError:  # nothing that we may read is nothing that we could load
        return []
    return [directory / name for name in sorted(names)]


def _is_walked(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_WALKED and _is_utf8(name)
