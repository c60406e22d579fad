"""Tests of the paths in git routes: which directory a path selects."""

from pathlib import Path
from typing import Any

import pytest

from app_server.conversations.repositories.workplaces import Checkout, Workplace
from app_server.conversations.routes.git import require_within, within
from app_server.core.errors import Forbidden
from tests.app_server.conversations.conftest import ROOT, Home, commit


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (None, "/work/shop"),
        (".", "/work/shop"),
        ("src/a.py", "/work/shop/src/a.py"),
        ("/work/shop/", "/work/shop"),
        ("/work/other", "/work/other"),
    ],
)
def test_a_relative_one_is_below_the_conversations_own(path: str | None, place: str) -> None:
    assert within("/work/shop", path) == place


def test_others_than_the_owner_see_the_repositories_and_nothing_beside_them() -> None:
    client: Any = None
    checkouts = (Checkout("/work/shop", "git.example/a/shop"), Checkout("/work/lamp", "git.example/a/lamp"))
    place = Workplace(client, "/work/shop", None, is_own=False, checkouts=checkouts)
    for path in ("/work/shop", "/work/lamp/a.py", "/work/shop/../lamp"):
        require_within(place, path)
    for path in ("/work", "/work/lamp-2", "/work/lamp/../secret"):
        with pytest.raises(Forbidden):
            require_within(place, path)


async def test_changes_of_the_repository_that_is_named(home: Home, repository: Path) -> None:
    (repository / "lib").mkdir()
    (repository / "lib" / "a.txt").write_text("a\n")
    commit(repository, "Add a library")
    task = await home.ready(selected_repository=str(repository))
    await home.shell(task["id"], "echo b >> lib/a.txt && git init -q inner && echo c > inner/c.txt")
    route = f"{ROOT}/{task['id']}/git/changes"
    own = (await home.client.get(route)).json()
    top = await home.shell(task["id"], "pwd")

    async def paths(path: str) -> list[str]:
        reply = await home.client.get(route, params={"path": path})
        assert reply.status_code == 200, reply.text
        return [Path(each["path"]).name for each in reply.json()]

    assert await paths(top) == [Path(each["path"]).name for each in own]
    assert await paths("inner") == await paths(f"{top}/inner") == ["c.txt"]
