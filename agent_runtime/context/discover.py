"""Finds the instructions and skills for an agent: from the project, the user and the client. If two sources
contain instructions or a skill with the same name, the first source in this order is used:

1. the client's request,
2. the project: instructions and skills of the working directory, then those of its parent directories up to
   the root of the repository, the nearest first; then those of the additional repositories in the order in
   which the client named them,
3. the user's own skills: those that the app server sent, then those on this machine,
4. the organisation's skills, as the app server sent them,
5. public skills, as the app server sent them.

The name of instructions from an additional repository contains the repository's directory
(`../lamp/AGENTS.md`), so that it differs from the names in the repository of the working directory. The name
of a skill is changed only if a repository that was searched before has a skill of the same name: then the
repository's directory is put before the name (`lamp/deploy`).

The search blocks the thread, but only for a short time, because few directories are read and large files are
left out. A file that cannot be used is reported, and the search continues.
"""

import os
from pathlib import Path

from agent_runtime.context.discovered_context import DiscoveredContext
from agent_runtime.context.nested_directories import directories_below
from agent_runtime.context.path_rules import whole_directory
from agent_runtime.context.skill_file import parse
from agent_runtime.context.skills import AgentContext, Origin, ProjectContext, Skill, SkillFile
from agent_runtime.tools.memory.notes import MEMORY_DIRECTORY, read_notes
from agent_runtime.workspace.front_matter import UnusableFileError, is_utf8

INSTRUCTION_FILES = ("AGENTS.md", "AGENT.md", "CLAUDE.md", "GEMINI.md", ".cursorrules")
PROJECT_DIRECTORIES = (".openhands/skills", ".agents/skills", ".openhands/microagents")
USER_DIRECTORIES = (".openhands/skills", ".agents/skills")

MAX_ENTRIES = 500


def discover(context: AgentContext, working_dir: Path, *, home: Path | None = None) -> ProjectContext:
    """Returns the instructions, skills and memory notes (texts of agents in earlier conversations) for an
    agent that works in `working_dir`. `context`: what the client sent in its request. `home`: the user's home
    directory; None means the home directory of the server's process. Raises pydantic.ValidationError if a
    skill that the client sent is not valid.
    """
    working_dir = working_dir.resolve()
    root = _repository_root(working_dir)
    found = DiscoveredContext(root, frozenset(context.disabled_skills))
    for given in context.skills:
        found.add(Skill.of_protocol(given), "sent by the client")
    if context.load_project_skills:
        _add_project(found, working_dir, root)
        for further in dict.fromkeys(Path(one).resolve() for one in context.further_projects):
            # The directories around the working directory were looked at already.
            if further not in _up_to(root, working_dir):
                _add_project(found, further, further, is_further=True)
    _add_sent(found, context, "user", is_wanted=context.load_user_skills)
    if context.load_user_skills:
        own = home or Path.home()
        for directory in USER_DIRECTORIES:
            _add_skills(found, own / directory, own, "user")
    _add_sent(found, context, "organisation", is_wanted=context.load_org_skills)
    _add_sent(found, context, "public", is_wanted=context.load_public_skills)
    if context.load_memory:
        _add_notes(found, working_dir)
    return found.result()


def _add_sent(found: DiscoveredContext, context: AgentContext, origin: Origin, *, is_wanted: bool) -> None:
    for file in context.skill_files:
        if file.origin != origin:
            continue
        try:
            found.add(*_sent(found, file, is_wanted=is_wanted))
        except UnusableFileError as error:
            found.leave_out(file.path, str(error), origin)


def _sent(found: DiscoveredContext, file: SkillFile, *, is_wanted: bool) -> tuple[Skill, str]:
    if not is_wanted:
        raise UnusableFileError(f"skills of this origin are not wanted: {file.origin}")
    if file.text is None:
        raise UnusableFileError(file.problem or "the app server could not read it")
    skill = parse(Path(file.path), found.bounded(file.text.strip()))
    # Other files of the skill's directory were not sent, so the skill has no directory here.
    skill = skill.model_copy(update={"origin": file.origin, "directory": None})
    return skill, f"{_WHOSE[file.origin]}: {_when(skill)}"


_WHOSE = {
    "project": "a skill of the project",
    "user": "a skill of the user's own",
    "organisation": "a skill of the organisation",
    "public": "a public skill",
}


def _add_notes(found: DiscoveredContext, working_dir: Path) -> None:
    notes = read_notes(working_dir, lambda path, why: found.leave_out(str(path), why, "memory"))
    directory = working_dir / MEMORY_DIRECTORY
    found.add_notes(
        [(directory / f"{note.name}.md", note) for note in notes],
        "a note of an earlier conversation: its title is in the system prompt",
    )


def _add_project(
    found: DiscoveredContext, working_dir: Path, root: Path, *, is_further: bool = False
) -> None:
    """Adds the instructions and skills of a repository to `found`. First searches `working_dir` and its
    parent directories up to `root`. Then searches the directories below `working_dir` for instructions.

    `working_dir`: the directory in the repository at which the search begins. `root`: the root of the
    repository. `is_further`: whether this is an additional repository of the conversation, and not the
    repository of the agent's working directory.
    """
    begin = f"../{root.name}/" if is_further else ""
    prefix = f"{root.name}/" if is_further else None
    for directory in _up_to(root, working_dir):
        for name in INSTRUCTION_FILES:
            _add_instructions(found, directory / name, root, begin=begin)
        for below in PROJECT_DIRECTORIES:
            _add_skills(found, directory / below, root, "project", rules_below=root, prefix=prefix)
    for directory in directories_below(working_dir):
        below = whole_directory(directory.relative_to(root))
        for name in INSTRUCTION_FILES:
            _add_instructions(found, directory / name, root, paths=(below,), begin=begin)


def _up_to(root: Path, directory: Path) -> list[Path]:
    """Returns `directory` and its parent directories up to `root`, the nearest to `directory` first. Returns
    an empty list if `directory` is not below `root`.
    """
    return [one for one in (directory, *directory.parents) if one.is_relative_to(root)]


def _repository_root(working_dir: Path) -> Path:
    """Returns the root of the repository that contains `working_dir`. Returns `working_dir` if there is no
    repository.
    """
    return next((one for one in (working_dir, *working_dir.parents) if (one / ".git").exists()), working_dir)


def _add_instructions(
    found: DiscoveredContext, path: Path, root: Path, *, paths: tuple[str, ...] = (), begin: str = ""
) -> None:
    """Adds a file with instructions, such as AGENTS.md, to `found`. `paths`: the globs of the files that the
    instructions are for, relative to `root`; empty means all files. `begin`: a text that is put before the
    name of the instructions.
    """
    if not os.path.lexists(path):
        return
    try:
        text = found.read(path, root)
    except UnusableFileError as error:
        found.leave_out(str(path), str(error), "project")
        return
    skill = Skill(
        origin="project",
        name=f"{begin}{path.relative_to(root)}",
        type="knowledge" if paths else "repo",
        content=text,
        paths=paths,
        paths_below=str(root) if paths else None,
        source=str(path),
    )
    found.add(skill, f"instructions of the project: {_when(skill)}")


def _add_skills(
    found: DiscoveredContext,
    directory: Path,
    root: Path,
    origin: Origin,
    *,
    rules_below: Path | None = None,
    prefix: str | None = None,
) -> None:
    """Adds the skills in a directory to `found`. `root`: the repository, or another directory, that contains
    `directory`. `origin`: who provides the skills, such as the project or the user.

    `rules_below`: the directory to which the file paths in path rules are relative. A path rule is a skill
    that applies only to certain files. None means the agent's working directory.

    `prefix`: a text that is put before the name of a skill if a repository that was searched before has a
    skill of the same name. If `prefix` is None, such a skill is left out.
    """
    try:
        paths = _skill_files(directory)
    except OSError as error:
        found.leave_out(str(directory), f"it cannot be read: {error.strerror}", origin)
        return
    for path in paths:
        try:
            skill = parse(path, found.read(path, root), rules_below).model_copy(update={"origin": origin})
        except UnusableFileError as error:
            found.leave_out(str(path), str(error), origin)
        else:
            if prefix is not None and found.is_of_other_repository(skill.name, root):
                skill = skill.model_copy(update={"name": f"{prefix}{skill.name}"})
            found.add(skill, f"{_WHOSE[origin]}: {_when(skill)}")


def _when(skill: Skill) -> str:
    """Returns a text for users that says when the model gets the text of the skill, for example "added to a
    message that begins with /release".
    """
    if skill.paths:
        return f"added to the first result that touches {', '.join(skill.paths)}"
    if calls := [trigger for trigger in skill.triggers if trigger.startswith("/")]:
        return f"added to a message that begins with {' or '.join(calls)}"
    return {
        "repo": "without triggers, so always in the system prompt",
        "knowledge": "added to the first message that has one of its triggers",
        "agentskills": "listed in the system prompt, read with invoke_skill",
    }[skill.type]


def _skill_files(directory: Path) -> list[Path]:
    """Returns the skill files in a directory: `*.md` files, and `SKILL.md` in its subdirectories, sorted by
    name.
    """
    if not directory.is_dir():
        return []
    entries = sorted(path for path in directory.iterdir() if is_utf8(path.name))[:MAX_ENTRIES]
    own = [path / "SKILL.md" if path.is_dir() else path for path in entries]
    return [path for path in own if path.suffix == ".md" and os.path.lexists(path)]
