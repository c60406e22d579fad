"""Fetching repositories: what users may write, and what git then does."""

import socket
import subprocess
from pathlib import Path

import pytest

from app_server.errors import StartFailure
from app_server.git.address import InvalidRepository, parse_address
from app_server.git.source import pack


@pytest.mark.parametrize(
    ("repository", "public_url", "name"),
    [
        ("octocat/hello", "https://github.com/octocat/hello.git", "hello"),
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b.git", "b"),
        ("https://me:secret@git.example.org/a/b", "https://git.example.org/a/b", "b"),
        ("https://token@git.example.org:8443/a/b?x=1", "https://git.example.org:8443/a/b", "b"),
        ("ssh://git@git.example.org/a/b.git", "ssh://git@git.example.org/a/b.git", "b"),
        ("git@git.example.org:a/b.git", "git@git.example.org:a/b.git", "b"),
        ("/srv/git/my project", "/srv/git/my project", "my-project"),
        ("file:///srv/git/x.git", "/srv/git/x.git", "x"),
        ("/srv/x/.git", "/srv/x/.git", "x"),
        ("https://git.example.org/..", "https://git.example.org/..", "repository"),
    ],
)
def test_a_repository_is_read_as_its_user_means_it(repository: str, public_url: str, name: str) -> None:
    address = parse_address(repository)
    assert (address.public_url, address.name) == (public_url, name)
    assert address.has_credentials == ("secret" in repository or "token@" in repository)


@pytest.mark.parametrize(
    "repository",
    [
        "ext::sh -c id",
        "--upload-pack=id",
        "http://[b/x",
        "ftp://x/y",
        "https://host",
        "hello",
        "./x",
        "~/x",
        "file://other/x",
        "ssh://-oProxyCommand=id/x",
        "/a\x00b",
    ],
)
def test_what_cannot_be_meant_is_refused(repository: str) -> None:
    with pytest.raises(InvalidRepository):
        parse_address(repository)


async def test_hooks_and_settings_of_this_machine_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, home, scratch = tmp_path / "source", tmp_path / "home", tmp_path / "scratch"
    for directory in (source, home, scratch):
        directory.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tsshCommand = touch {tmp_path}/ran\n[url]\n\tbad\n[broken\n")
    make_repository(source)
    monkeypatch.setenv("HOME", str(home))
    lines: list[str] = []

    packed = await pack(
        parse_address(str(source)), None, directory=scratch, timeout_seconds=30, report=lines.append
    )

    assert packed.branch == "main"
    assert packed.bundle is not None
    assert not (tmp_path / "ran").exists()


async def test_a_server_that_stays_silent_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = parse_address(f"git://127.0.0.1:{silent.getsockname()[1]}/x")
        with pytest.raises(StartFailure) as failure:
            await pack(address, None, directory=tmp_path, timeout_seconds=0.5, report=lambda _line: None)
    assert failure.value.code == "repository_clone_failed"
    assert "SLIPWAY_CLONE_TIMEOUT_SECONDS" in failure.value.fix


def make_repository(path: Path) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for arguments in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "Begin")):
        subprocess.run(["git", *identity, *arguments], cwd=path, check=True)
