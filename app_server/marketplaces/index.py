"""Parses the list of plugins and skills in the repository of a marketplace. The functions here do no I/O.

The list is the file `.plugin/marketplace.json` or `.claude-plugin/marketplace.json`. Several coding agents
use this format.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app_server.marketplaces.schemas import Marketplace
from app_server.skills.files import SkillFile

MANIFESTS: Final = (".plugin/marketplace.json", ".claude-plugin/marketplace.json")
PLUGIN_MANIFESTS: Final = (".plugin/plugin.json", ".claude-plugin/plugin.json")
MAX_PLUGINS: Final = 200
MAX_SKILLS: Final = 100
_ADDRESS = re.compile(r"github:[\w.-]+/[\w.-]+|https?://[^@\s]+")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_EXPECTED_SOURCES: Final = {
    "plugin": "a path, a URL, or an object with the fields `source` and `repo` (if `source` is `github`) or "
    "`source` and `url` (if `source` is `url` or `git-subdir`), and optionally `ref`, `sha` and `path`",
    "skill": "a path in the repository of the marketplace",
}
"""The values that the field `source` of an entry can have, by the kind of the entry."""


class UnreadableMarketplace(Exception):
    """The error that is raised when the git repository of a marketplace cannot be fetched, or when its list
    of plugins and skills cannot be parsed. The message says why.
    """


@dataclass(frozen=True)
class Files:
    """The files in the repository of a marketplace at one commit.

    `paths`: the paths of all regular files. `texts`: the contents of the files that were read, by path.
    `left_out`: the reasons why other files were not read, by path.
    """

    commit: str
    paths: frozenset[str]
    texts: Mapping[str, str]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class MarketplacePlugin:
    """A plugin that a marketplace lists. The files of the plugin are in the marketplace's repository or in
    another repository.

    `source`: the repository of the plugin, as a URL or `github:OWNER/REPO`. `ref`: the commit, branch or tag
    of this repository; None means the default branch. `repo_path`: the directory of the plugin in this
    repository; None means the top directory.
    """

    name: str
    description: str | None
    source: str
    ref: str | None
    repo_path: str | None


@dataclass(frozen=True)
class MarketplaceContents:
    """All plugins and skills that one marketplace lists. A marketplace is a git repository.

    `problems`: for each listed plugin or skill that cannot be used, a sentence that says why.
    """

    plugins: tuple[MarketplacePlugin, ...]
    skills: tuple[SkillFile, ...]
    problems: tuple[str, ...]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _PluginLocation(_Lenient):
    """The git repository in which a plugin is, and the place of the plugin in it. In the marketplace's list,
    this object is the value of the field `source` of a plugin's entry.

    `source`: which kind of repository the object names. The kind `github` needs `repo` (`OWNER/REPO`). The
    kinds `url` and `git-subdir` need `url`. `ref`: a branch or tag. `sha`: a commit; if it is given, `ref` is
    ignored. `path`: the directory of the plugin in the repository; None means the top directory.
    """

    source: str
    repo: str | None = None
    url: str | None = None
    ref: str | None = None
    sha: str | None = None
    path: str | None = None


class _Entry(_Lenient):
    name: str = Field(min_length=1, max_length=200)
    description: str | None = None
    source: str | _PluginLocation


class _Metadata(_Lenient):
    plugin_root: str | None = Field(default=None, alias="pluginRoot")


class _Manifest(_Lenient):
    plugins: list[dict[str, Any]] = Field(default=[], max_length=MAX_PLUGINS)
    skills: list[dict[str, Any]] = Field(default=[], max_length=MAX_SKILLS)
    metadata: _Metadata | None = None


class _Unusable(Exception):
    """The error that is raised when a plugin or skill in the list of a marketplace cannot be used. The
    message says why.
    """


def contents_of(marketplace: Marketplace, files: Files) -> MarketplaceContents:
    """Parses the list of a marketplace and returns the plugins and skills in the list. If an entry of the
    list cannot be used, the field `problems` of the returned object says why.

    `files`: the files of the marketplace's repository, which contain the list. Raises UnreadableMarketplace
    if there is no list or if the whole list is not valid.
    """
    manifest = _manifest(files)
    root = (manifest.metadata.plugin_root if manifest.metadata else None) or ""
    plugins: list[MarketplacePlugin] = []
    skills: list[SkillFile] = []
    problems: list[str] = []
    for kind, entries in (("plugin", manifest.plugins), ("skill", manifest.skills)):
        for position, data in enumerate(entries, start=1):
            try:
                entry = _Entry.model_validate(data)
            except ValidationError as error:
                problems.append(f"{marketplace.name}: {kind} {position}: {_wrong(kind, error)}.")
                continue
            try:
                if kind == "plugin":
                    plugins.append(_plugin(marketplace, entry, files, root))
                else:
                    skills.append(_skill(marketplace, entry, files))
            except _Unusable as error:
                problems.append(f"{marketplace.name}: the {kind} {entry.name} {error}.")
    return MarketplaceContents(tuple(plugins), tuple(skills), tuple(problems))


def _manifest(files: Files) -> _Manifest:
    for path in MANIFESTS:
        if path in files.left_out:
            raise UnreadableMarketplace(f"{path} {files.left_out[path]}.")
        if (text := files.texts.get(path)) is not None:
            try:
                return _Manifest.model_validate_json(text)
            except ValidationError as error:
                raise UnreadableMarketplace(f"{path}: {_first(error)}.") from error
    raise UnreadableMarketplace(f"It has none of {', '.join(MANIFESTS)}.")


def _plugin(marketplace: Marketplace, entry: _Entry, files: Files, root: str) -> MarketplacePlugin:
    source = entry.source
    if isinstance(source, str) and not _ADDRESS.fullmatch(source):
        inside = _inside(f"{root}/{source}" if root else source)
        if not any(_joined(inside, name) in files.paths for name in PLUGIN_MANIFESTS):
            raise _Unusable(f"has none of {', '.join(PLUGIN_MANIFESTS)} in {inside or 'the top directory'}")
        path = _joined(marketplace.repo_path or "", inside)
        return MarketplacePlugin(
            entry.name, entry.description, marketplace.source, files.commit, path or None
        )
    if isinstance(source, str):
        return MarketplacePlugin(entry.name, entry.description, source, None, None)
    path = _inside(source.path) if source.path else ""
    return MarketplacePlugin(
        entry.name, entry.description, _address(source), _ref(source.sha or source.ref), path or None
    )


def _address(location: _PluginLocation) -> str:
    if location.source == "github" and location.repo and _REPOSITORY.fullmatch(location.repo):
        return f"github:{location.repo}"
    if location.source in {"url", "git-subdir"} and location.url and _ADDRESS.fullmatch(location.url):
        return location.url
    if location.source in {"github", "url", "git-subdir"}:
        raise _Unusable(f"has no usable source. It must be {_EXPECTED_SOURCES['plugin']}")
    raise _Unusable(f"has a source of the kind {location.source!r} that cannot be used here")


def _ref(ref: str | None) -> str | None:
    if ref is not None and (not ref or ref.startswith("-") or any(one.isspace() for one in ref)):
        raise _Unusable("names no usable branch, tag or commit")
    return ref


def _skill(marketplace: Marketplace, entry: _Entry, files: Files) -> SkillFile:
    if not isinstance(entry.source, str) or _ADDRESS.fullmatch(entry.source):
        raise _Unusable("does not lie in the repository of the marketplace")
    inside = _inside(entry.source)
    path = inside if inside.endswith(".md") else _joined(inside, "SKILL.md")
    shown = f"public/{marketplace.name}/{path}"
    if path in files.left_out:
        raise _Unusable(f"cannot be read: {path} {files.left_out[path]}")
    if (text := files.texts.get(path)) is None:
        raise _Unusable(f"has no file {path}")
    return SkillFile(origin="public", path=shown, text=text)


def _inside(path: str) -> str:
    """Checks that `path` does not lead out of the marketplace's repository, and returns it without a leading
    `./`. `path`: the directory of a plugin or the path of a skill in the list. Raises _Unusable if the path
    contains `..` or begins with `/` or `~`.
    """
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")) or ".." in parts:
        raise _Unusable("lies outside of the repository")
    return "/".join(parts)


def _joined(directory: str, name: str) -> str:
    return "/".join(part.strip("/") for part in (directory, name) if part.strip("/"))


def _wrong(kind: str, error: ValidationError) -> str:
    """Returns a text that says what is wrong with an entry of the list. `kind`: `plugin` or `skill`. `error`:
    the error that pydantic has raised for the entry.

    If the field `source` is wrong, the text says what `source` must be. The messages of pydantic are not
    clear in this case, because pydantic reports one error for each type that `source` may have.
    """
    problems = error.errors()
    if problems[0]["loc"][0] != "source":
        return _first(error)
    details = [f" ({one['loc'][2]}: {one['msg']})" for one in problems if len(one["loc"]) == 3]
    return f"source must be {_EXPECTED_SOURCES[kind]}{details[0] if kind == 'plugin' and details else ''}"


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else str(problem["msg"])
