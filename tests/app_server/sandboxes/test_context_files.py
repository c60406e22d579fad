"""Tests of the digest of a custom base image: it depends on all files that the build can read, and on
nothing else.
"""

import io
import os
import re
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app_server.sandbox_images.build_context import OUTSIDE, pack, read_packed


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    for name, text in {
        "Dockerfile": "FROM debian:12\nCOPY . /all\n",
        "tool.sh": "echo tool\n",
        "logs/a.log": "a",
        "logs/keep.log": "b",
        "src/deep/main.py": "print()\n",
        "secret": "s",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".dockerignore").write_text("# logs\n\nlogs/*\n!logs/keep.log\nsecret\n**/*.pyc\nDockerfile\n")
    (folder / "link").symlink_to("tool.sh")
    (folder / "away").symlink_to("/etc")
    return folder


def packed(context: Path, dockerfile: Path | None = None) -> tuple[str, dict[str, tarfile.TarInfo]]:
    """Packs the build context. Returns its digest, and the members of the tar file by name."""
    sink = io.BytesIO()
    found = pack(context, dockerfile or context / "Dockerfile", sink)
    assert sink.tell() == 0
    with tarfile.open(fileobj=sink) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert found.dockerfile in members
    return found.digest, members


def test_docker_ignored_files_are_left_out_and_links_stay_links(context: Path) -> None:
    _, members = packed(context)

    assert set(members) == {
        *(".", ".dockerignore", "Dockerfile", "away", "link", "logs", "logs/keep.log"),
        *("src", "src/deep", "src/deep/main.py", "tool.sh"),
    }
    assert (members["link"].linkname, members["away"].linkname) == ("tool.sh", "/etc")


def test_an_ignore_file_of_the_dockerfiles_own_comes_first(context: Path) -> None:
    (context / "Dockerfile.dockerignore").write_text("**\n!tool.sh\n")
    _, members = packed(context)

    assert {"tool.sh", "Dockerfile"} <= set(members)
    assert not {"secret", "src/deep/main.py", "link"} & set(members)


def test_a_dockerfile_from_elsewhere_is_packed_beside_the_context(context: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "Other"
    elsewhere.write_text("FROM debian:12\n")
    before, members = packed(context, elsewhere)
    elsewhere.write_text("FROM debian:13\n")
    after, _ = packed(context, elsewhere)

    assert OUTSIDE in members
    assert before != after


def rename(context: Path) -> None:
    (context / "tool.sh").rename(context / "tool")


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda context: (context / "tool.sh").write_text("echo TOOL\n"),
    "name": rename,
    "mode": lambda context: (context / "tool.sh").chmod(0o700),
    "link": lambda context: ((context / "link").unlink(), (context / "link").symlink_to("src")),
    "folder": lambda context: (context / "empty").mkdir(),
    "Dockerfile": lambda context: (context / "Dockerfile").write_text("FROM debian:12\n"),
    "what is ignored": lambda context: (context / ".dockerignore").write_text("logs/*\nsecret\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_a_build_sees_makes_another_digest(
    change: Callable[[Path], object], context: Path
) -> None:
    before, _ = packed(context)
    change(context)

    assert packed(context)[0] != before


def listen(context: Path) -> None:
    """Leaves a socket file in the folder, as some programs that watch files do."""
    here = Path.cwd()
    os.chdir(context)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("watcher.sock")
    finally:
        os.chdir(here)


UNSEEN: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _context: None,
    "times": lambda context: os.utime(context / "tool.sh", (1, 1)),
    "an ignored file": lambda context: (context / "secret").write_text("other"),
    "an ignored file in a folder": lambda context: (context / "src" / "deep" / "x.pyc").write_text("x"),
    "a socket": listen,
    "what a link leads to": lambda context: (context.parent / "beside").write_text("x"),
}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_what_a_build_does_not_see_changes_nothing(change: Callable[[Path], object], context: Path) -> None:
    (context / "beside").symlink_to("../beside")
    before, _ = packed(context)
    change(context)

    assert packed(context)[0] == before


def test_contents_that_run_together_are_told_apart(tmp_path: Path) -> None:
    digests = set()
    for number, (one, other) in enumerate([("ab", "c"), ("a", "bc"), ("", "abc")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in {"Dockerfile": "FROM scratch\n", "one": one, "other": other}.items():
            (folder / name).write_text(text)
        digests.add(packed(folder)[0])

    assert len(digests) == 3


def test_names_that_are_long_or_no_text_are_packed(context: Path) -> None:
    folder = context / ("long" * 30) / ("longer" * 20)
    folder.mkdir(parents=True)
    (folder / os.fsdecode(b"caf\xe9")).write_text("x")
    sink = io.BytesIO()
    pack(context, context / "Dockerfile", sink)

    # docker recognises a tar file only if its first header is complete, without an extended header.
    with tarfile.open(fileobj=io.BytesIO(sink.getvalue()[:512] + bytes(1024))) as tar:
        assert tar.getnames() == ["."]
    assert str(folder.relative_to(context) / os.fsdecode(b"caf\xe9")) in packed(context)[1]


def test_a_file_that_cannot_be_read_is_an_error(context: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        pack(context, context / "nowhere", io.BytesIO())


def test_the_unpacked_files_have_the_same_digest(context: Path) -> None:
    (context / os.fsdecode(b"caf\xe9")).write_text("x")
    (context / ("long" * 60)).write_text("y")
    (context / "tool.sh").chmod(0o4755)
    sink = io.BytesIO()
    sent = pack(context, context / "Dockerfile", sink)

    assert read_packed(sink, "Dockerfile") == sent
    assert sink.tell() == 0
    with pytest.raises(ValueError, match="Dockerfile"):
        read_packed(sink, "src/Dockerfile")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../etc/cron.d/x", tarfile.REGTYPE),
        ("a/../../x", tarfile.REGTYPE),
        ("/etc/x", tarfile.REGTYPE),
        ("device", tarfile.CHRTYPE),
        ("pipe", tarfile.FIFOTYPE),
        ("hard", tarfile.LNKTYPE),
    ],
)
def test_a_tar_with_paths_outside_of_it_or_special_files_is_refused(name: str, kind: bytes) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("Dockerfile"), io.BytesIO())
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "Dockerfile"
        tar.addfile(member)
    sink.seek(0)

    with pytest.raises(ValueError, match=re.escape(repr(name))):
        read_packed(sink, "Dockerfile")


def test_a_file_that_is_not_a_tar_is_refused() -> None:
    with pytest.raises(ValueError, match="not a tar"):
        read_packed(io.BytesIO(b"x" * 4096), "Dockerfile")
