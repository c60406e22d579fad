"""Reads the skill files on the disk of the app server. The app server sends these files to agent servers,
which parse them.

The skills of a user are in the folder `skills/USER_ID` of the app server's data directory (Config.home). The
skills of the organisation and the public skills are in the folder that the environment variable
SLIPWAY_SKILLS_PATH names.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from app_server.core.config import Config

Origin = Literal["user", "organisation", "public"]

ORIGINS: tuple[Origin, ...] = ("user", "organisation", "public")
"""The origins of skills, by priority. If two skills have the same name, the skill whose origin comes first in
this tuple is used.
"""

MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 1024 * 1024
MAX_FILES = 300


class SkillFile(BaseModel):
    """A skill file that is sent to agent servers.

    `origin`: `user` for a user's own skill, `organisation` for a skill of the organisation, `public` for all
    other skills. `path`: the path that users see, such as `user/review.md`. `text`: the content of the file;
    None if there is a problem. `problem`: the reason why the file cannot be sent; None if there is no
    problem.
    """

    model_config = ConfigDict(frozen=True)

    origin: Origin
    path: str
    text: str | None = None
    problem: str | None = None


class _Unreadable(Exception):
    """The error that is raised when a skill file cannot be sent to an agent server, for example because it is
    too large. The message says why.
    """


def read_skill_files(config: Config, user_id: UUID) -> list[SkillFile]:
    """Reads all skill files on this server's disk that this user's agents may get. If a file cannot be sent
    to agents, its SkillFile has a `problem` and no text.

    At most 300 files are returned. Their texts have at most 1 MiB in total. Blocks while it reads the disk.
    """
    found: list[SkillFile] = []
    room = MAX_TOTAL_BYTES
    for origin, root, path in islice(_all_files(config, user_id), MAX_FILES):
        shown = f"{origin}/{path.relative_to(root)}"
        try:
            text = _read(path, root, room)
        except _Unreadable as error:
            found.append(SkillFile(origin=origin, path=shown, problem=str(error)))
        else:
            room -= len(text.encode())
            found.append(SkillFile(origin=origin, path=shown, text=text))
    return found


def user_directory(config: Config, user_id: UUID) -> Path:
    return config.home / "skills" / user_id.hex


def _all_files(config: Config, user_id: UUID) -> Iterator[tuple[Origin, Path, Path]]:
    own = user_directory(config, user_id)
    yield from (("user", own, path) for path in _files(own))
    if config.skills_path is None:
        return
    for origin in ("organisation", "public"):
        root = config.skills_path / origin
        yield from ((origin, root, path) for path in _files(root))


def _files(directory: Path) -> Iterator[Path]:
    """Yields the paths of the skill files in a directory, sorted by name: the `*.md` files, and the file
    `SKILL.md` of each subdirectory. Yields nothing if the directory does not exist.
    """
    if not directory.is_dir():
        return
    for entry in sorted(directory.iterdir()):
        path = entry / "SKILL.md" if entry.is_dir() else entry
        if path.suffix == ".md" and path.is_file():
            yield path


def _read(path: Path, root: Path, room: int) -> str:
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            raise _Unreadable("it is a link that leads somewhere else")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _Unreadable(f"it is larger than {MAX_FILE_BYTES // 1024} KiB")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _Unreadable(f"the app server cannot read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _Unreadable("it is not UTF-8 text") from error
    if len(text.encode()) > room:
        raise _Unreadable(f"with the others it is too much: over {MAX_TOTAL_BYTES // 1024} KiB")
    return text
