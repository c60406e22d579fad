"""Reads from a devcontainer.json file how an image is built. Also lists the parts of the file that Slipway
ignores, each with a reason.

The file comes from a repository and is not trusted. It cannot copy files from outside of its project into an
image. The format: https://containers.dev/implementors/json_reference/
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app_server.core.config import IMAGE_NAME
from app_server.core.errors import BadRequest
from app_server.sandbox_images.custom_base import BaseSource, printable, resolved_source
from app_server.sandbox_images.jsonc import parse_jsonc

MAX_CHARACTERS = 1024**2
CANDIDATE_PATHS = (".devcontainer/devcontainer.json", ".devcontainer.json", "devcontainer.json")

_SET_UP = (
    "what prepares a project belongs into .agents/setup.sh, which runs in the sandbox once a user allows it"
)
_PORTS = "ports of a sandbox are found and shown in the browser"
_USER = "agents work as the user agent (uid 10001)"
_VARIABLES = "set variables with ENV in the Dockerfile; secrets are kept in Slipway"
_WALLS = "a repository cannot choose the isolation of a sandbox"
_HOST = "a sandbox sees no folder of this machine; its project is at /workspace/project"
_SLIPWAY_SETTING = "limits and life of a sandbox are settings of Slipway"
_EDITOR = "it is meant for an editor"
_WHY_IGNORED = {
    "features": "install what they bring in the Dockerfile",
    "overrideFeatureInstallOrder": "features are not installed",
    "initializeCommand": "no command of a repository runs on this machine",
    **dict.fromkeys(
        ("onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "waitFor"),
        _SET_UP,
    ),
    **dict.fromkeys(("forwardPorts", "portsAttributes", "otherPortsAttributes", "appPort"), _PORTS),
    **dict.fromkeys(("remoteUser", "containerUser", "updateRemoteUserUID", "userEnvProbe"), _USER),
    **dict.fromkeys(("containerEnv", "remoteEnv", "secrets"), _VARIABLES),
    **dict.fromkeys(("runArgs", "privileged", "capAdd", "securityOpt", "build.options"), _WALLS),
    **dict.fromkeys(("mounts", "workspaceMount", "workspaceFolder"), _HOST),
    **dict.fromkeys(("hostRequirements", "shutdownAction", "overrideCommand", "init"), _SLIPWAY_SETTING),
    **dict.fromkeys(("customizations", "postAttachCommand"), _EDITOR),
    "build.cacheFrom": "the engine's own cache is used",
    "image": "its Dockerfile says what it is built on",
    **dict.fromkeys(("build", "context"), "it names no Dockerfile"),
}
# These settings have no effect.
_LABELS = {"name", "$schema"}
# The closing brace is optional, because a search from each variable without one would take a time that grows
# with the square of the text.
_VARIABLE = re.compile(r"\$\{([^}]*+)(?P<end>\})?")
# A command's argument cannot contain a zero byte.
_Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


@dataclass(frozen=True)
class Devcontainer:
    """The part of a devcontainer.json that Slipway uses. `base`: the name of an image, or the files and
    options from which an image is built. `ignored`: the names of the parts that Slipway ignores, each with a
    reason. The texts are safe to print on a terminal.
    """

    base: str | BaseSource
    ignored: list[str]


class _Build(BaseModel):
    model_config = ConfigDict(extra="allow")

    dockerfile: _Text | None = None
    context: _Text | None = None
    args: dict[_Text, _Text] = {}
    target: _Text | None = None


class _Content(BaseModel):
    """The fields of a devcontainer.json that Slipway reads. `dockerFile`, `context`: older forms of the
    fields of `build`, which many repositories still use.
    """

    model_config = ConfigDict(extra="allow")

    image: _Text | None = None
    build: _Build = Field(default_factory=_Build)
    dockerFile: _Text | None = None  # noqa: N815 (its name there)
    context: _Text | None = None


@dataclass
class _Plain:
    """A function object that replaces the variables in a text of a devcontainer.json by their default values:
    in place of `${localEnv:NAME:value}`, the result contains `value`. It never reads this machine's
    environment.

    `file`: the path of the file, for error messages. `taken`: the variables that were replaced, each with the
    reason why its default value was used. Raises BadRequest `devcontainer_variable` for a variable without a
    default.
    """

    file: Path
    taken: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> str:
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        if not found["end"]:
            return found[0]
        kind, *rest = found[1].split(":")
        if kind not in {"localEnv", "env"} or len(rest) < 2:
            raise BadRequest(
                f"{self.file} asks for {printable(found[0])}, which Slipway does not put in.",
                code="devcontainer_variable",
                fix="Write its value there, or a default: ${localEnv:NAME:default}.",
            )
        why = "nothing of this machine's environment gets into an image; its default is taken"
        self.taken.append(f"{printable(f'${{{kind}:{rest[0]}}}')} ({why})")
        return ":".join(rest[1:])


def read_devcontainer(path: Path, context: Path | None = None) -> Devcontainer:
    """Reads a devcontainer.json and returns the part of it that Slipway uses. Blocks the thread.

    `path`: the path of the file, or of the project folder that contains it. `context`: the build context
    folder that the user has given; it replaces the folder that the file names. If `context` is None, the
    folder that the file names is used.

    Raises BadRequest with a code that begins with `devcontainer_` if the file is missing, cannot be read or
    asks for something that Slipway does not support. Raises BadRequest `dockerfile_missing` if there is no
    Dockerfile at the path that the file names. Raises BadRequest `build_context_missing` if the build context
    is not a folder.
    """
    file, project = _find(path)
    content = _read(file)
    if "dockerComposeFile" in (content.model_extra or {}):
        raise BadRequest(
            f"{file} describes several containers (dockerComposeFile); a sandbox is one.",
            code="devcontainer_compose",
            fix="Name the Dockerfile of the one in which people work: --dockerfile PATH --context DIR",
        )
    plain = _Plain(file)
    base = _source(file, project, content, context, plain) or _image(file, content, plain)
    return Devcontainer(base, [*map(_explained, _unused(content, base)), *plain.taken])


def _unused(content: _Content, base: str | BaseSource) -> list[str]:
    names = [name for name in content.model_extra or {} if name not in _LABELS]
    if isinstance(base, str):
        return names + [name for name in ("build", "context") if name in content.model_fields_set]
    names += [f"build.{name}" for name in content.build.model_extra or {}]
    return [*names, "image"] if content.image else names


def _explained(name: str) -> str:
    return f"{printable(name)} ({_WHY_IGNORED.get(name, 'Slipway does not know it')})"


def _find(path: Path) -> tuple[Path, Path]:
    """Returns the resolved paths of the devcontainer.json and of its project folder. `path`: the file, or the
    project folder. Raises BadRequest `devcontainer_missing` if there is no such file. Raises BadRequest
    `devcontainer_leads_out` if the file is a symbolic link to a place outside of the project folder.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 (`..` would stay)
    candidates = [path / relative_path for relative_path in CANDIDATE_PATHS] if path.is_dir() else [path]
    for candidate in candidates:
        if candidate.is_file():
            # The project is the one where the file was found. A link must not choose another project.
            file, project = candidate.resolve(), _project(candidate).resolve()
            _require_inside(file, [project], candidate, "Name the file where it lies.")
            return file, project
    raise BadRequest(
        f"There is no devcontainer.json at {path}.",
        code="devcontainer_missing",
        fix="Name the file itself, or the folder of the project that has it.",
    )


def _read(file: Path) -> _Content:
    try:
        return _Content.model_validate(parse_jsonc(_text(file)))
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        cause = "; ".join(
            f"{printable('.'.join(map(str, one['loc'])) or 'all of it')}: {one['msg']}"
            for one in problems[:3]
        )
        raise _unreadable(file, cause) from error
    except (OSError, ValueError) as error:
        raise _unreadable(file, str(error)) from error


def _text(file: Path) -> str:
    with file.open(encoding="utf-8-sig") as opened:
        text = opened.read(MAX_CHARACTERS + 1)
    if len(text) > MAX_CHARACTERS:
        raise ValueError("it is too long")
    return text


def _image(file: Path, content: _Content, plain: Callable[[str], str]) -> str:
    if not content.image:
        raise BadRequest(
            f"{file} names neither an image nor a Dockerfile.",
            code="devcontainer_no_image",
            fix="Give it `image`, or `build` with `dockerfile`.",
        )
    name = plain(content.image)
    if not re.fullmatch(IMAGE_NAME, name):
        raise _unreadable(file, f"image: {printable(name)} is not the name of an image")
    return name


def _source(
    file: Path, project: Path, content: _Content, context: Path | None, plain: Callable[[str], str]
) -> BaseSource | None:
    dockerfile = content.build.dockerfile or content.dockerFile
    if not dockerfile:
        return None
    folder = context or file.parent / plain(content.build.context or content.context or ".")
    source = resolved_source(
        file.parent / plain(dockerfile),
        folder,
        {name: plain(value) for name, value in content.build.args.items()},
        plain(content.build.target) if content.build.target else None,
    )
    roots = [project, source.context] if context else [project]
    fix = "If that is meant, say so: --context DIR. All that is in there can get into the image."
    for path in (source.dockerfile, source.context):
        _require_inside(path, roots, file, fix)
    return source


def _require_inside(path: Path, roots: list[Path], file: Path, fix: str) -> None:
    if not any(path.is_relative_to(root) for root in roots):
        raise BadRequest(
            f"{file} leads out of its project {roots[0]}: to {printable(path)}.",
            code="devcontainer_leads_out",
            fix=fix,
        )


def _project(file: Path) -> Path:
    for folder in file.parents:
        if folder.name == ".devcontainer":
            return folder.parent
        if (folder / ".git").exists():
            return folder
    return file.parent


def _unreadable(file: Path, cause: str) -> BadRequest:
    return BadRequest(
        f"{file} cannot be read: {cause}.",
        code="devcontainer_unreadable",
        fix="Correct it. Its format: https://containers.dev/implementors/json_reference/",
    )
