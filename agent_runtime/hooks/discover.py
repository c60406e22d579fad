"""Reads the hooks that a project's files define (commands, or questions to a model, that run at certain
points of a conversation). The request for a new conversation says whether these hooks are used.
"""

from pathlib import Path

import orjson
from pydantic import ValidationError

from agent_runtime.hooks.config import HookConfig, known_points

# The first file that has hooks is used.
FILES = (".openhands/hooks.json", ".claude/settings.json")
MAX_BYTES = 1024 * 1024


class HooksFileError(Exception):
    """The error that is raised when a project's file with hooks (commands, or questions to a model) cannot be
    read or is not valid. The text names the file and the reason.
    """


def discover(project: Path) -> HookConfig | None:
    """Returns the hooks (commands, or questions to a model) that the project's files define. `project`: the
    project's directory. Returns None if there are no hooks. Raises HooksFileError if a file is not valid.
    """
    for name in FILES:
        if (found := read_hooks(project, name)) is not None:
            return found
    return None


def read_hooks(project: Path, name: str) -> HookConfig | None:
    """Returns the hooks (commands, or questions to a model) that one file of the project defines. `name`: the
    file's path in the project, such as `.claude/settings.json`. Returns None if there are no hooks. Raises
    HooksFileError if the file is not valid.
    """
    file = project / name
    if not file.is_file():
        return None
    try:
        if not file.resolve().is_relative_to(project.resolve()):
            raise HooksFileError(f"{name} is a link that leads out of the project.")
        if file.stat().st_size > MAX_BYTES:
            raise HooksFileError(f"{name} is larger than {MAX_BYTES:,} bytes.")
        content = orjson.loads(file.read_bytes())
    except OSError as error:
        raise HooksFileError(f"{name} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise HooksFileError(f"{name} is not JSON: {error}.") from error
    try:
        config = HookConfig.model_validate(known_points(content) if isinstance(content, dict) else {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise HooksFileError(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    return None if config.is_empty else config
