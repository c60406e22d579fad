"""Routes that list directories: for the choice of a working directory, and to show what is in a workspace."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query
from pydantic import BaseModel

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.roots import (
    AllowedPath,
    ReadablePath,
    ReadableRoots,
    get_file_roots,
    os_errors_as_problems,
)
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import DirectoryPage
from agent_runtime.workspace.directory_listing import MAX_PAGE, list_directory

router = Router(prefix="/api/file", tags=["Files"])


class SubdirectoryEntry(BaseModel):
    name: str
    path: str


class SubdirectoryPage(BaseModel):
    items: list[SubdirectoryEntry]
    next_page_id: str | None = None


class Place(BaseModel):
    label: str
    path: str


class HomeResponse(BaseModel):
    """The reply of GET /api/file/home: directories from which a user can begin to browse. `home`: the user's
    home directory.

    `favorites`: the subdirectories of the home directory; empty if clients may not access the home directory.
    `locations`: the directories that clients may access.
    """

    home: str
    favorites: list[Place] = []
    locations: list[Place] = []


@router.get("/search_subdirs")
def search_subdirs(
    path: AllowedPath,
    page_id: str | None = None,
    limit: Annotated[int, Query(gt=0, le=100)] = 100,
    include_hidden: bool = False,
) -> SubdirectoryPage:
    """Returns a page of the subdirectories of a directory, sorted by name.

    `page_id`: the name of the subdirectory with which the page begins.
    """
    with os_errors_as_problems():
        if not path.is_dir():
            raise ServerProblem(404, "not_found", "There is no such directory.")
        found = sorted(_directories(path, include_hidden=include_hidden), key=lambda one: _order(one.name))
    following = [one for one in found if page_id is None or _order(one.name) >= _order(page_id)]
    items = [SubdirectoryEntry(name=one.name, path=str(one)) for one in following[:limit]]
    return SubdirectoryPage(
        items=items, next_page_id=following[limit].name if len(following) > limit else None
    )


@router.get("/entries")
def entries(
    path: ReadablePath,
    roots: ReadableRoots,
    page_id: str | None = None,
    limit: Annotated[int, Query(gt=0, le=MAX_PAGE)] = MAX_PAGE,
) -> DirectoryPage:
    """Returns a page of all that is in a directory, also of what is hidden. `page_id`: the `next_page_id` of
    the page before.
    """
    with os_errors_as_problems():
        if not path.is_dir():
            raise ServerProblem(404, "not_found", "There is no such directory.")
        try:
            return list_directory(path, roots, page_id, limit)
        except ValueError as error:
            raise ServerProblem(422, "validation_failed", "page_id: no page has named this id.") from error


@router.get("/home")
def home(roots: Annotated[list[Path], Depends(get_file_roots)], include_hidden: bool = False) -> HomeResponse:
    own = Path.home()
    is_reachable = any(own.is_relative_to(root) for root in roots)
    favorites = _directories(own, include_hidden=include_hidden) if is_reachable else ()
    return HomeResponse(
        home=str(own),
        favorites=[Place(label=one.name, path=str(one)) for one in sorted(favorites)],
        locations=[Place(label=str(root), path=str(root)) for root in dict.fromkeys(roots)],
    )


def _directories(path: Path, *, include_hidden: bool) -> Iterator[Path]:
    """Yields the subdirectories of `path`. Symbolic links are left out, because a link may lead to any
    directory. `include_hidden`: whether directories whose names begin with a dot are included.
    """
    for one in path.iterdir():
        is_shown = include_hidden or not one.name.startswith(".")
        if is_shown and not one.is_symlink() and one.is_dir():
            yield one


def _order(name: str) -> tuple[str, str]:
    return name.casefold(), name
