"""Checks the structure that CONTRIBUTING.md asks for: unique class names; small folders, modules and classes.

The limit of files in a folder holds for the front end too; ESLint checks the length of its files.

`EXCEPTIONS` lists what exceeds a limit today. An entry that is no longer needed makes the test fail.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

from app_server.server_state import ServerState

ROOT = Path(__file__).parents[2]
PARTS = ("agent_runtime", "app_server")
FRONT_END = Path("frontend/src")
SOURCES = {".ts", ".tsx", ".css", ".json"}
MAX_FILES = 25
MAX_LINES = 400
MAX_METHODS = 25
"""The limit of public methods of a class. Fields do not count: the protocol defines the fields of models."""

EXCEPTIONS = {
    "methods of AgentClient",  # one method for each route that it calls
    "methods of Backend",  # the protocol of the sandbox backends, which some of the next classes implement
    "methods of DockerBackend",
    "methods of RemoteBackend",
    "methods of Conversation",  # the public library
    "methods of InProcess",
    "methods of Link",  # what Conversation needs of an engine; InProcess and OnServer implement it
    "methods of OnServer",
}


def test_class_names_are_unique_and_folders_modules_and_classes_are_small() -> None:
    found = {*_same_names(), *_large_folders(), *_large_modules(), *_large_classes()}
    assert found - EXCEPTIONS == set(), "see `How code looks` in CONTRIBUTING.md"
    assert EXCEPTIONS - found == set(), "no longer true: remove these rows"


def _same_names() -> Iterator[str]:
    for part in PARTS:
        names = [each.name for module in _modules() if module.parts[0] == part for each in _classes(module)]
        yield from (f"class {name} of {part}" for name in set(names) if names.count(name) > 1)


def _large_folders() -> Iterator[str]:
    folders = [module.parent for module in _modules() if module.name != "__init__.py"]
    folders += [
        file.parent.relative_to(ROOT) for file in (ROOT / FRONT_END).rglob("*") if file.suffix in SOURCES
    ]
    yield from (f"folder {folder}" for folder in set(folders) if folders.count(folder) > MAX_FILES)


def _large_modules() -> Iterator[str]:
    yield from (
        f"module {module}" for module in _modules() if (ROOT / module).read_text().count("\n") > MAX_LINES
    )


def _large_classes() -> Iterator[str]:
    for each in (each for module in _modules() for each in _classes(module)):
        members = {one.name for one in each.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
        if sum(not name.startswith("_") for name in members) > MAX_METHODS:
            yield f"methods of {each.name}"


@cache
def _modules() -> list[Path]:
    """Returns the paths of all Python modules in PARTS, relative to the root of the repository."""
    return [file.relative_to(ROOT) for part in PARTS for file in sorted((ROOT / part).rglob("*.py"))]


@cache
def _classes(module: Path) -> list[ast.ClassDef]:
    """Returns the public classes at the top level of the module."""
    body = ast.parse((ROOT / module).read_text()).body
    return [each for each in body if isinstance(each, ast.ClassDef) and not each.name.startswith("_")]


def test_routes_take_only_objects_that_the_lifespan_opens() -> None:
    modules = [
        each for each in _modules() if each.parts[0] == "app_server" and each.parts[1] != "sandbox_host"
    ]
    source = "\n".join((ROOT / module).read_text() for module in modules)
    names = set(re.findall(r'from_server\("(\w+)"\)', source))
    assert names
    assert names <= {each.name for each in fields(ServerState)}
