"""Tests of workspaces and tar files with hostile content."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app_server.core.errors import StartFailure
from app_server.sandbox_backends.workspace_tar import PARTS, PROJECT, below, clean, pack, unpack, writing

OWNER = 10001


def packed(workspace: Path, parts: tuple[str, ...] = PARTS) -> io.BytesIO:
    buffer = io.BytesIO()
    with writing(buffer) as tar:
        pack(workspace, parts, tar, owner=OWNER)
    return io.BytesIO(buffer.getvalue())


def tar_of(*members: tarfile.TarInfo) -> io.BytesIO:
    """Returns a tar file with these members, as an engine may send it. The content of a regular file is its
    name.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member in members:
            content = member.name.encode() if member.isreg() else b""
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return io.BytesIO(buffer.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, mode
    return made


def cleaned(raw: io.BytesIO, part: str = PROJECT) -> io.BytesIO:
    buffer = io.BytesIO()
    with writing(buffer) as tar:
        clean(raw, part, tar, owner=OWNER)
    return io.BytesIO(buffer.getvalue())


def names_in(tar: io.BytesIO) -> list[str]:
    with tarfile.open(fileobj=tar) as opened:
        return opened.getnames()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "project" / "src").mkdir(parents=True)
    (folder / "conversations").mkdir()
    return folder


def test_a_workspace_comes_back_as_it_was(workspace: Path, tmp_path: Path) -> None:
    project = workspace / "project"
    (project / "src" / "run").write_bytes(b"#!/bin/sh\n" * 100_000)
    (project / "src" / "run").chmod(0o755)
    os.utime(project / "src" / "run", (1e9, 1e9))
    (project / os.fsdecode(b"caf\xe9")).write_text("not UTF-8")
    (project / "python").symlink_to("/usr/bin/python3")
    (project / "src" / "up").symlink_to("../../../../etc")
    (project / "to-directory").symlink_to("src")
    (project / "linked").hardlink_to(project / "src" / "run")
    (project / "read-only").mkdir()
    (project / "read-only" / "kept").touch()
    (project / "read-only").chmod(0o555)
    (workspace / "conversations" / "log").write_text("events")

    unpack(packed(workspace), restored := tmp_path / "restored")

    again = restored / "project"
    assert (again / "src" / "run").read_bytes() == (project / "src" / "run").read_bytes()
    assert (again / "src" / "run").stat().st_mode & 0o777 == 0o755
    assert (again / "src" / "run").stat().st_mtime == 1e9
    assert (again / os.fsdecode(b"caf\xe9")).read_text() == "not UTF-8"
    assert (again / "python").readlink() == Path("/usr/bin/python3")
    assert (again / "src" / "up").readlink() == Path("../../../../etc")
    assert (again / "to-directory").readlink() == Path("src")
    assert (again / "linked").samefile(again / "src" / "run")
    assert (again / "read-only").stat().st_mode & 0o777 == 0o555
    assert (restored / "conversations" / "log").read_text() == "events"


def test_nothing_but_data_is_packed(workspace: Path) -> None:
    project = workspace / "project"
    os.mkfifo(project / "fifo")
    (project / "suid").write_text("x")
    (project / "suid").chmod(0o6755)
    (workspace / "stray").write_text("no part of it")
    (workspace / ".session-key").write_text("secret")

    with tarfile.open(fileobj=packed(workspace)) as tar:
        assert sorted(tar.getnames()) == ["conversations", "project", "project/src", "project/suid"]
        suid = tar.getmember("project/suid")
        assert (suid.mode, suid.uid, suid.gid) == (0o755, OWNER, OWNER)


def test_a_part_that_became_a_link_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    (workspace / "conversations").rmdir()
    (workspace / "conversations").symlink_to(tmp_path)

    assert names_in(packed(workspace)) == ["project", "project/src"]


def test_of_a_foreign_tar_only_what_may_be_in_a_workspace_stays() -> None:
    raw = tar_of(
        member("project", tarfile.DIRTYPE),
        member("project/file"),
        member("project/../../escape"),
        member("/etc/passwd"),
        member("conversations/log"),
        member("project/device", tarfile.CHRTYPE),
        member("project/fifo", tarfile.FIFOTYPE),
        member("project/fifo-again", tarfile.LNKTYPE, "project/fifo"),
        member("project/hard-out", tarfile.LNKTYPE, "../../etc/shadow"),
        member("project/soft-out", tarfile.SYMTYPE, "/etc"),
    )

    assert names_in(cleaned(raw)) == ["project", "project/file", "project/soft-out"]


def test_a_tar_that_was_cut_off_is_refused() -> None:
    whole = tar_of(member("project", tarfile.DIRTYPE), member("project/a"), member("project/b")).getvalue()
    # The cut is exactly between two members, so each member before the cut is complete.
    with pytest.raises(StartFailure, match="cut off"):
        cleaned(io.BytesIO(whole[: 512 * 3]))


def escape_by_link_then_file() -> io.BytesIO:
    return tar_of(
        member("project", tarfile.DIRTYPE, mode=0o755),
        member("project/out", tarfile.SYMTYPE, "../../outside"),
        member("project/out/planted"),
    )


def escape_by_two_links() -> io.BytesIO:
    return tar_of(
        member("project", tarfile.DIRTYPE, mode=0o755),
        member("project/out", tarfile.SYMTYPE, "../../outside"),
        member("project/out/planted", tarfile.SYMTYPE, "/etc/passwd"),
    )


def escape_by_name() -> io.BytesIO:
    return tar_of(member("project/../../outside/planted"))


def escape_by_hard_link() -> io.BytesIO:
    return tar_of(member("project/planted", tarfile.LNKTYPE, "../outside/secret"))


@pytest.mark.parametrize(
    "hostile", [escape_by_link_then_file, escape_by_two_links, escape_by_name, escape_by_hard_link]
)
def test_nothing_outside_of_the_workspace_is_touched(
    hostile: Callable[[], io.BytesIO], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")

    with pytest.raises((StartFailure, OSError)):
        unpack(hostile(), tmp_path / "restored")

    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").stat().st_nlink == 1


def test_paths_out_of_all_measure_are_refused(workspace: Path) -> None:
    directory = os.open(workspace / "project", os.O_RDONLY)
    for _ in range(450):
        os.mkdir("d", dir_fd=directory)
        inner = os.open("d", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = inner
    os.close(directory)

    with pytest.raises(StartFailure, match="nested"):
        packed(workspace)


def test_a_tar_moves_below_a_folder_with_its_hard_links(workspace: Path) -> None:
    (workspace / "project" / "a").write_text("a" * 1000)
    (workspace / "project" / "b").hardlink_to(workspace / "project" / "a")
    (workspace / "project" / "link").symlink_to("../a")

    with tarfile.open(fileobj=io.BytesIO(b"".join(below(packed(workspace), "workspace")))) as tar:
        assert all(name.startswith("workspace/") for name in tar.getnames())
        assert [each.linkname for each in tar if each.islnk()] in (
            ["workspace/project/a"],
            ["workspace/project/b"],
        )
        assert tar.getmember("workspace/project/link").linkname == "../a"
