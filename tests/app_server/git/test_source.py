"""Tests of fetching repositories: which addresses users may enter, and what git then does."""

import contextlib
import socket
import subprocess
import tempfile
import threading
from base64 import b64encode
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app_server.core.errors import Forbidden, StartFailure
from app_server.git.address import InvalidRepository, parse_address, without_credentials
from app_server.git.command import run_git
from app_server.git.credentials import credentials_in
from app_server.git.repository_bundle import pack
from tests.support.git_host import GitHost
from tests.support.patience import PATIENCE_SECONDS
from tests.support.private_host import private_host


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
        "ssh://-oProxyCommand=id@host/x",
        "x@-oProxyCommand:path",
        "ext::touch%20/tmp/ran",
        "fd::17",
        "FILE://tmp/x",
        "/a\x00b",
    ],
)
def test_what_cannot_be_meant_is_refused(repository: str) -> None:
    with pytest.raises(InvalidRepository):
        parse_address(repository)


def test_a_path_of_this_machine_is_known_in_any_spelling() -> None:
    for spelling in ("FILE:///srv/x", "File://localhost/srv/x", "file:/srv/x"):
        assert parse_address(spelling).local_path == Path("/srv/x")


def test_a_password_with_an_at_sign_is_taken_out_whole() -> None:
    said = "fatal: unable to access 'https://me:p@ss@git.example.org/a/b': see https://example.org/help"
    assert without_credentials(said) == (
        "fatal: unable to access 'https://git.example.org/a/b': see https://example.org/help"
    )


async def test_any_of_many_branches_is_found_and_the_default_one_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    make_repository(source)
    names = ["early", *(f"release/{number:04}-{'x' * 30}" for number in range(400))]
    updates = "".join(f"create refs/heads/{name} HEAD\n" for name in names)
    git(source, "update-ref", "--stdin", stdin=updates)

    assert (await packed_branch(source, None)) == "main"
    assert (await packed_branch(source, "early")) == "early"
    with pytest.raises(StartFailure) as failure:
        await packed_branch(source, "missing")
    assert "early, main, release/0000" in failure.value.cause
    assert failure.value.cause.endswith(" and more.")


async def test_a_tag_of_the_same_name_does_not_hide_a_branch(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    make_repository(source)
    git(source, "tag", "main")

    assert (await packed_branch(source, "main")) == "main"
    assert (await packed_branch(source, None)) == "main"


@pytest.mark.parametrize("branch", ["--all", "-x", "../heads/main", "main\n", "main^{tree}", "HEAD", "*"])
async def test_only_the_name_of_a_branch_names_one(tmp_path: Path, branch: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    make_repository(source)
    with pytest.raises(StartFailure) as failure:
        await packed_branch(source, branch)
    assert failure.value.code == "branch_not_found"


async def test_hooks_and_settings_of_the_repository_do_not_run(tmp_path: Path) -> None:
    source, ran = tmp_path / "source", tmp_path / "ran"
    source.mkdir()
    make_repository(source)
    run = f"touch {ran}"
    for setting in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.alternateRefsCommand"):
        git(source, "config", setting, run)
    for setting in ("uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.vcs"):
        git(source, "config", setting, run)
    for hook in ("post-checkout", "pre-push", "reference-transaction", "post-index-change"):
        (source / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\n{run}\n")
        (source / ".git" / "hooks" / hook).chmod(0o755)

    assert (await packed_branch(source, None)) == "main"
    assert not ran.exists()


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
        parse_address(str(source)),
        None,
        directory=scratch,
        timeout_seconds=PATIENCE_SECONDS,
        report=lines.append,
    )

    assert packed.branch == "main"
    assert packed.bundle is not None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("user", "header"), [("me:p%40ss", "me:p@ss"), ("t0ken", "t0ken:")])
async def test_a_password_opens_its_server_and_is_on_no_command_line(
    tmp_path: Path, user: str, header: str
) -> None:
    make_repository(tmp_path)
    git(tmp_path, "update-server-info")
    seen: list[str] = []

    class Guarded(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(tmp_path / ".git"))

        def do_GET(self) -> None:
            seen.extend(command_lines())
            if self.headers["Authorization"] == f"Basic {b64encode(header.encode()).decode()}":
                super().do_GET()
            else:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server, tempfile.TemporaryDirectory() as scratch:
        threading.Thread(target=server.serve_forever).start()
        address = parse_address(f"http://{user}@127.0.0.1:{server.server_port}/project/..")
        packed = await pack(
            address,
            None,
            directory=Path(scratch),
            timeout_seconds=PATIENCE_SECONDS,
            report=lambda _line: None,
            credentials=credentials_in(address),
        )
        server.shutdown()
        kept = git(Path(scratch) / "clone.git", "config", "--list", "--local")

    assert packed.branch == "main"
    secret = header.strip(":").rpartition(":")[2]
    assert any("clone" in line for line in seen)
    for text in (*seen, kept):
        assert secret not in text
        assert user not in text


async def test_a_server_that_stays_silent_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = parse_address(f"git://127.0.0.1:{silent.getsockname()[1]}/x")
        with pytest.raises(StartFailure) as failure:
            await pack(address, None, directory=tmp_path, timeout_seconds=0.5, report=lambda _line: None)
    assert failure.value.code == "repository_clone_failed"
    assert "SLIPWAY_CLONE_TIMEOUT_SECONDS" in failure.value.fix


async def test_words_in_the_name_of_a_folder_are_not_taken_for_gits_answer(tmp_path: Path) -> None:
    folder = tmp_path / "403 not found"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    address = parse_address(f"http://127.0.0.1:{port}/x")
    with pytest.raises(StartFailure) as failure:
        await pack(
            address, None, directory=folder, timeout_seconds=PATIENCE_SECONDS, report=lambda _line: None
        )
    assert failure.value.code == "repository_clone_failed", failure.value


async def packed_branch(source: Path, branch: str | None) -> str | None:
    with tempfile.TemporaryDirectory(dir=source.parent) as scratch:
        packed = await pack(
            parse_address(str(source)),
            branch,
            directory=Path(scratch),
            timeout_seconds=PATIENCE_SECONDS,
            report=lambda _line: None,
        )
    return packed.branch


def command_lines() -> list[str]:
    """Returns the command lines of all git processes of this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # A process can end while this function reads.
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if "git" in line.partition(" ")[0]]


def make_repository(path: Path) -> None:
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "Begin")


def git(path: Path, *arguments: str, stdin: str = "") -> str:
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(
        command, cwd=path, input=stdin, text=True, check=True, stdout=subprocess.PIPE
    ).stdout


async def test_git_trusts_the_authorities_that_the_server_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_host(tmp_path) as host:

        async def said() -> str:
            asked = ("ls-remote", f"{host.url}team/harbour")
            return (await run_git(*asked, directory=tmp_path, timeout_seconds=PATIENCE_SECONDS)).output

        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
        assert "certificate" in await said()
        assert host.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(host.believed))
        assert "certificate" not in await said()
        assert host.seen


async def test_the_new_address_of_a_repository_is_checked_before_it_is_fetched(tmp_path: Path) -> None:
    asked: list[str] = []

    async def refuse(place: str) -> None:
        asked.append(place)
        raise Forbidden("Only for members.")

    with GitHost(tmp_path / "host") as host:
        host.make("team/pier")
        host.redirects["/team/harbour.git"] = "/team/pier.git"
        with pytest.raises(Forbidden):
            await pack(
                parse_address(host.url("team/harbour")),
                None,
                directory=tmp_path,
                timeout_seconds=PATIENCE_SECONDS,
                report=lambda _line: None,
                require_moved=refuse,
            )
        assert asked == [f"{host.origin}/team/pier.git"]
        assert not [one for one in host.requests if one.path.endswith("/team/pier.git/git-upload-pack")]
