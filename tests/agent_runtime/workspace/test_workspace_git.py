"""Tests of the changes that git reports for a work tree, on real repositories."""

import os
import subprocess
from pathlib import Path

import pytest

from agent_runtime.workspace import git
from agent_runtime.workspace.git import Change, ChangeStatus, FileDiff
from agent_runtime.workspace.local import PathNotAllowedError, confine

ODD_NAMES = [
    "ü ñ.txt",
    "tab\tname",
    "new\nline",
    'quo"te',
    "back\\slash",
    "-n",
    ":(glob)*",
    "*.txt",
    "[ab]",
    " lead",
]


def run(*arguments: str | Path, **options) -> None:
    subprocess.run(arguments, check=True, **options)


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.mkdir(parents=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str | Path, stdin: bytes | None = None) -> str:
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", "-C", self.path, *identity, *arguments], check=True, capture_output=True, input=stdin
        )
        return done.stdout.decode().strip()

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / 'odd: repo \\ "x"')


async def test_each_kind_of_change_has_its_status(repository: Repository):
    for name in ("kept", "edited", "deleted", "staged"):
        repository.write(name, f"{name}\n" * 10)
    repository.write("moved-from", "long enough to be recognised\n" * 10)
    repository.write(".gitignore", "ignored\n")
    repository.commit()
    repository.write("edited", "new\n")
    repository.write("staged", "new\n")
    repository.git("add", "staged")
    (repository.path / "deleted").unlink()
    (repository.path / "moved-from").rename(repository.path / "moved-to")
    repository.write("dir/untracked", "x\n")
    repository.write("ignored", "x\n")
    assert await git.changes(repository.path) == [
        Change(ChangeStatus.DELETED, "deleted"),
        Change(ChangeStatus.ADDED, "dir/untracked"),
        Change(ChangeStatus.UPDATED, "edited"),
        Change(ChangeStatus.MOVED, "moved-to", old_path="moved-from"),
        Change(ChangeStatus.UPDATED, "staged"),
    ]
    assert await git.changes(repository.path / "dir") == await git.changes(repository.path)


async def test_any_file_name_works(repository: Repository):
    repository.commit()
    for name in ODD_NAMES:
        repository.write(name, "x\n")
    assert [change.path for change in await git.changes(repository.path)] == sorted(ODD_NAMES)
    for name in ODD_NAMES:
        assert await git.diff(repository.path / name) == FileDiff(None, "x\n")
    repository.commit()
    for name in ODD_NAMES:
        repository.write(name, "y\n")
        assert await git.diff(repository.path / name) == FileDiff("x\n", "y\n")


async def test_the_patch_makes_the_same_tree_elsewhere(repository: Repository, tmp_path: Path):
    repository.write("edited", "old\r\n")
    repository.write("deleted", "x\n")
    repository.write("binary", bytes(range(256)))
    repository.write("moved-from", "long enough to be recognised\n" * 10)
    repository.commit()
    run("git", "clone", "-q", repository.path, tmp_path / "clone")
    repository.write("edited", "new\r\n")
    (repository.path / "deleted").unlink()
    repository.write("binary", bytes(reversed(range(256))))
    (repository.path / "moved-from").rename(repository.path / "moved-to")
    repository.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (repository.path / "link").symlink_to("edited")
    for name in ODD_NAMES:
        repository.write(name, "x\n")
    patch = await git.patch(repository.path)
    run("git", "apply", "-", cwd=tmp_path / "clone", input=patch)
    here, there = repository.path, tmp_path / "clone"
    run("diff", "-r", "--no-dereference", "-x", ".git", here, there)
    assert os.access(there / "run.sh", os.X_OK)


async def test_looking_changes_neither_the_index_nor_the_objects(repository: Repository):
    repository.write("a", "a\n")
    repository.commit()
    repository.write("b", "b\n")
    state = [(path, path.stat().st_mtime_ns) for path in sorted((repository.path / ".git").rglob("*"))]
    status = repository.git("--no-optional-locks", "status", "--porcelain")
    await git.changes(repository.path)
    await git.patch(repository.path)
    await git.diff(repository.path / "b")
    assert [
        (path, path.stat().st_mtime_ns) for path in sorted((repository.path / ".git").rglob("*"))
    ] == state
    assert repository.git("--no-optional-locks", "status", "--porcelain") == status == "?? b"


async def test_a_repository_without_commits_compares_with_nothing(repository: Repository):
    repository.write("a", "a\n")
    repository.write("staged", "a\n")
    repository.git("add", "staged")
    assert [change.path for change in await git.changes(repository.path)] == ["a", "staged"]
    assert b"+a\n" in await git.patch(repository.path)


async def test_a_clone_compares_with_where_it_left_origin(repository: Repository, tmp_path: Path):
    repository.write("a", "a\n")
    repository.commit()
    run("git", "clone", "-q", repository.path, tmp_path / "clone")
    clone = Repository(tmp_path / "clone")
    clone.git("checkout", "-q", "-b", "work", "--no-track")
    clone.write("committed", "x\n")
    clone.commit()
    clone.write("open", "x\n")
    repository.write("later", "x\n")
    repository.commit()
    clone.git("fetch", "-q")
    assert [change.path for change in await git.changes(clone.path)] == ["committed", "open"]
    assert [change.path for change in await git.changes(clone.path, "HEAD")] == ["open"]


async def test_a_diff_follows_a_rename_and_knows_deleted_binary_and_linked_files(repository: Repository):
    repository.write("old", "long enough to be recognised\n" * 10)
    repository.write("gone/deleted", "x\n")
    repository.write("binary", b"\0\1")
    (repository.path / "link").symlink_to("old")
    repository.commit()
    (repository.path / "old").rename(repository.path / "new")
    (repository.path / "gone" / "deleted").unlink()
    (repository.path / "gone").rmdir()
    same = "long enough to be recognised\n" * 10
    assert await git.diff(repository.path / "new") == FileDiff(same, same)
    assert await git.diff(repository.path / "gone" / "deleted") == FileDiff("x\n", None)
    assert (await git.diff(repository.path / "link")).modified == "old"
    assert (await git.diff(repository.path / "binary")).original.startswith("Binary file, 2 bytes")


async def test_settings_of_user_and_repository_do_not_change_the_patch(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n noprefix = true\n external = false\n[color]\n ui = always\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in (
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.relative", "true"),
    ):
        repository.git("config", name, value)
    repository.write("a", "a\n")
    repository.commit()
    repository.write("a", "b\n")
    assert (await git.patch(repository.path)).startswith(b"diff --git a/a b/a\n")


async def test_a_repository_inside_does_not_get_in_the_way(repository: Repository):
    repository.commit()
    inner = Repository(repository.path / "inner")
    inner.write("x", "x\n")
    repository.write("outer", "x\n")
    assert [change.path for change in await git.changes(repository.path)] == ["outer"]


async def test_a_merge_conflict_is_an_update(repository: Repository):
    repository.write("a", "base\n")
    repository.commit()
    repository.git("checkout", "-q", "-b", "side")
    repository.write("a", "side\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("a", "main\n")
    repository.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "side")
    assert await git.changes(repository.path) == [Change(ChangeStatus.UPDATED, "a")]


async def test_a_missing_file_has_a_separate_error(repository: Repository, tmp_path: Path):
    repository.commit()
    with pytest.raises(git.NotARepositoryError):
        await git.changes(tmp_path)
    with pytest.raises(git.NotARepositoryError):
        await git.changes(tmp_path / "missing")
    for ref in ("missing", "--output=x", "", "HEAD~99"):
        with pytest.raises(git.UnknownRefError):
            await git.changes(repository.path, ref)
    with pytest.raises(git.UnknownFileError):
        await git.diff(repository.path / "missing")


def test_paths_are_confined_to_the_roots_links_included(tmp_path: Path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "sub")
    (root / "loop").symlink_to(root / "loop")
    assert confine(f"{root}/sub/new/file", [root]) == root / "sub" / "new" / "file"
    assert confine(f"{root}/in/x", [root]) == root / "sub" / "x"
    assert confine(str(root), [tmp_path / "other", root]) == root
    for path in ("sub", "", f"{root}/../x", f"{root}/out/x", f"{root}x", f"{root}/a\0b", "/etc/passwd"):
        with pytest.raises(PathNotAllowedError):
            confine(path, [root])
