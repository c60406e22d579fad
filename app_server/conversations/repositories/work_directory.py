"""Functions for the agent's working folder, which is a folder of the conversation's first repository. The
functions check the folder, describe it to the agent, and list the folders above it. They do no I/O.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from app_server.core.errors import BadRequest

MAX_DEPTH = 20


def checked_directory(given: str | None, *, has_repository: bool) -> str | None:
    """Returns the folder in which the agent will work, relative to the repository's root, without `.` and
    double slashes. Returns None for the root. `given`: the folder in the start request; None means the root.

    Raises BadRequest `directory_without_repository` if a folder is given but the conversation has no
    repository. Raises BadRequest `directory_outside_repository` if the path leads out of the repository or
    into `.git`, or if it has too many folders.
    """
    if given is None:
        return None
    if not has_repository:
        raise BadRequest(
            "A folder needs a repository.",
            code="directory_without_repository",
            fix="Name the repository in selected_repository, or leave selected_directory out.",
        )
    path = PurePosixPath(given.strip())
    parts = path.parts
    is_foreign = path.is_absolute() or ".." in parts or ".git" in parts or given.strip().startswith("~")
    if is_foreign or not given.isprintable():
        raise BadRequest(
            f"{given!r} is not a folder of the repository.",
            code="directory_outside_repository",
            fix="Name a folder relative to the root of the repository, such as packages/web.",
        )
    if len(parts) > MAX_DEPTH:
        raise BadRequest(
            f"The folder lies more than {MAX_DEPTH} levels deep.",
            code="directory_outside_repository",
            fix="Name a folder nearer to the root of the repository.",
        )
    return str(path) if parts else None


def levels_of(directory: str | None) -> Iterator[str]:
    """Yields the agent's working folder, then each folder above it, up to the root of the repository. The
    paths are relative to the root. The root itself is an empty text.
    """
    path = PurePosixPath(directory or "")
    for level in (path, *path.parents):
        if level.parts:
            yield str(level)
    yield ""


def words_for_agent(directory: str | None) -> str | None:
    """Returns the text that tells the agent that its working folder is a part of a larger repository. Returns
    None if the agent works at the root of the repository.
    """
    if directory is None:
        return None
    root = "/".join(".." for _ in PurePosixPath(directory).parts)
    return (
        f"The working directory is the folder `{directory}` of the repository, whose root is `{root}`. Work "
        "in this folder. Change files outside of it only if the task needs it."
    )
