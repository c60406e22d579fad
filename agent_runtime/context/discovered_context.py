"""Collects the skills, instructions and memory notes (texts of agents in earlier conversations) that were
found for an agent, and a report about each file that was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_runtime.context.skills import Origin, ProjectContext, Skill, SkillDiscovery
from agent_runtime.tools.memory.notes import Note
from agent_runtime.workspace.front_matter import UnusableFileError, read_text

MAX_TOTAL_BYTES = 1024 * 1024


@dataclass
class DiscoveredContext:
    """The collection of skills and memory notes (texts of agents in earlier conversations) that were found so
    far for an agent, with a report about each file that was searched. If two skills have the same name, only
    the first one is added.

    `project`: the root of the repository in which the agent works, or the working directory if there is no
    repository; file paths in the report are relative to it. `disabled`: the names of skills that must not be
    added.
    """

    project: Path
    disabled: frozenset[str] = frozenset()
    skills: dict[str, Skill] = field(default_factory=dict)
    notes: tuple[Note, ...] | None = None
    findings: list[SkillDiscovery] = field(default_factory=list)
    total_bytes: int = 0

    def add(self, skill: Skill, why: str) -> None:
        where = skill.source or skill.name
        reason = self._reason_against(skill)
        if reason is None:
            self.skills[skill.name] = skill
        self._report(
            where, why if reason is None else reason, skill.origin, skill.name, is_loaded=reason is None
        )

    def is_of_other_repository(self, name: str, root: Path) -> bool:
        """Returns whether the collection has a skill with this name from a repository other than the one in
        the directory `root`.
        """
        known = self.skills.get(name)
        if known is None or known.origin != "project" or known.source is None:
            return False
        return not Path(known.source).is_relative_to(root)

    def add_notes(self, notes: Sequence[tuple[Path, Note]], why: str) -> None:
        self.notes = tuple(note for _, note in notes)
        for path, note in notes:
            self._report(str(path), why, "memory", note.name, is_loaded=True)

    def leave_out(self, path: str, reason: str, origin: Origin) -> None:
        self._report(path, reason, origin, None, is_loaded=False)

    def read(self, path: Path, root: Path) -> str:
        """Reads a file below the directory `root` and returns its text. Adds the size of the text to the
        total size of all texts that were read so far.

        Raises UnusableFileError if the file cannot be used. Also raises this error for a file that makes the
        total larger than 1 MiB, because the prompt would be too long.
        """
        return self.bounded(read_text(path, root))

    def bounded(self, text: str) -> str:
        self.total_bytes += len(text.encode())
        if self.total_bytes > MAX_TOTAL_BYTES:
            raise UnusableFileError(f"with the others it is too much: over {MAX_TOTAL_BYTES // 1024} KiB")
        return text

    def result(self) -> ProjectContext:
        return ProjectContext(
            skills=tuple(self.skills.values()), notes=self.notes, findings=tuple(self.findings)
        )

    def _report(self, path: str, reason: str, origin: Origin, name: str | None, *, is_loaded: bool) -> None:
        below = f"{self.project}/"
        finding = SkillDiscovery(
            path=path.removeprefix(below),
            name=name,
            origin=origin,
            is_loaded=is_loaded,
            reason=reason.removeprefix(below),
        )
        self.findings.append(finding)

    def _reason_against(self, skill: Skill) -> str | None:
        if skill.name in self.disabled:
            return "its name is in disabled_skills"
        if (known := self.skills.get(skill.name)) is not None:
            return f"{known.source or 'the client'} has the same name and comes first"
        if (twin := self._same_text(skill)) is not None:
            return f"{twin.source or twin.name} has the same text"
        return None

    def _same_text(self, skill: Skill) -> Skill | None:
        # Projects often link CLAUDE.md to AGENTS.md. The same text is then loaded only once.
        if skill.type != "repo" and not skill.paths:
            return None
        alike = (one for one in self.skills.values() if one.content == skill.content)
        return next((one for one in alike if one.type == "repo" or one.paths == skill.paths), None)
