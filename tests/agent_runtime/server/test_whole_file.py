"""Tests of small files that many callers write at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from agent_runtime.server.outgoing.git_remotes import RemotesFile
from agent_runtime.server.saved.atomic_write import read_file, replace_file
from agent_runtime.wire import GitRemotes

CALLERS = 100


def at_once(write: Callable[[int], None]) -> None:
    """Calls `write` from many threads at the same time, each with another number from 0 on."""
    ready = Barrier(CALLERS)

    def call(number: int) -> None:
        ready.wait()
        write(number)

    with ThreadPoolExecutor(CALLERS) as threads:
        for result in [threads.submit(call, number) for number in range(CALLERS)]:
            result.result()


def test_a_hundred_callers_may_replace_one_file_at_the_same_time(tmp_path: Path):
    file = tmp_path / "place" / ".kept"
    contents = [f"{number:03}".encode() * 50_000 for number in range(CALLERS)]

    at_once(lambda number: replace_file(file, contents[number]))

    assert read_file(file) in contents
    assert [path.name for path in file.parent.iterdir()] == [".kept"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_replacement_that_fails_leaves_the_old_content_and_no_draft(tmp_path: Path):
    (tmp_path / "a directory").mkdir()

    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "a directory", b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["a directory"]


def test_a_hundred_requests_may_set_the_remotes_of_git_at_the_same_time(tmp_path: Path):
    file = RemotesFile(tmp_path, "http://127.0.0.1:9/git")
    wanted = [
        GitRemotes.model_validate(
            {"remotes": [{"name": f"r{number}", "addresses": [f"https://git.example/{number}.git"]}]}
        )
        for number in range(CALLERS)
    ]

    at_once(lambda number: file.set(wanted[number]))

    kept = GitRemotes.model_validate_json(read_file(tmp_path / ".git-remotes.json"))
    assert kept in wanted
    assert f'/{kept.remotes[0].name}"]' in (tmp_path / ".gitconfig").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git-remotes.json", ".gitconfig"]
