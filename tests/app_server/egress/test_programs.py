"""What agents use every day, through the way out, against registries of the tests' own."""

import asyncio
import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.app_server.egress.conftest import WayOut
from tests.support.outside import Handler

pytestmark = pytest.mark.low_ports

HOST = "packages.allowed.test"


def files_in(directory: Path) -> Handler:
    def handle(_host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        file = directory / path.partition("?")[0].lstrip("/")
        if file.is_dir():
            file /= "index.html"
        if not file.exists():
            return 404, {}, b"no such file"
        kind = "text/html" if file.suffix == ".html" else "application/octet-stream"
        return 200, {"Content-Type": kind}, file.read_bytes()

    return handle


def made_wheel(web: Path) -> None:
    """An index of one package, `greeting`, at /simple."""
    index = web / "simple" / "greeting"
    index.mkdir(parents=True)
    wheel = "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(index / wheel, "w") as archive:
        archive.writestr("greeting.py", "WORD = 'hello'\n")
        meta = "greeting-1.0.dist-info"
        archive.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
    (index / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')


def made_npm_package(web: Path, host: str) -> None:
    """A registry of one package, `greeting`."""
    web.mkdir()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        content = b'{"name": "greeting", "version": "1.0.0"}'
        member = tarfile.TarInfo("package/package.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    packed = buffer.getvalue()
    (web / "greeting.tgz").write_bytes(packed)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    dist = {"tarball": f"https://{host}/greeting.tgz", "integrity": integrity}
    versions = {"1.0.0": {"name": "greeting", "version": "1.0.0", "dist": dist}}
    description = {"name": "greeting", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    (web / "greeting").write_text(json.dumps(description))


async def test_pip_installs(way_out: WayOut, tmp_path: Path) -> None:
    made_wheel(tmp_path / "web")
    pip = (sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir")
    install = (
        *pip,
        "install",
        "--no-deps",
        "--target",
        str(tmp_path / "installed"),
    )
    async with way_out.site(HOST, files_in(tmp_path / "web")):
        done, said = await way_out.run(*install, "--index-url", f"https://{HOST}/simple", "greeting")
    _, refused = await way_out.run(*install, "--index-url", "https://elsewhere.test/simple", "greeting")

    assert done == 0, said
    assert (tmp_path / "installed" / "greeting.py").exists()
    assert "elsewhere.test:443 is not on this conversation's list" in refused


async def test_npm_installs(way_out: WayOut, tmp_path: Path) -> None:
    web, project = tmp_path / "web", tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    made_npm_package(web, HOST)
    async with way_out.site(HOST, files_in(web)):
        done, said = await way_out.run(
            *("npm", "--prefix", str(project), "install", "greeting", "--no-audit", "--no-fund"),
            HOME=str(tmp_path),
            npm_config_registry=f"https://{HOST}/",
            npm_config_cache=str(tmp_path / "cache"),
        )

    assert done == 0, said
    assert (project / "node_modules" / "greeting" / "package.json").exists()


async def test_git_clones(way_out: WayOut, tmp_path: Path) -> None:
    script = """
    set -e
    git init -q -b main work
    cd work
    echo hello > file
    git add file
    git -c user.name=a -c user.email=a@b commit -qm one
    git clone -q --bare . ../web/shop.git
    cd ../web/shop.git
    git update-server-info
    """
    (tmp_path / "web").mkdir()
    await asyncio.to_thread(subprocess.run, ["bash", "-c", script], cwd=tmp_path, check=True)
    async with way_out.site(HOST, files_in(tmp_path / "web")):
        done, said = await way_out.run(
            "git", "clone", f"https://{HOST}/shop.git", str(tmp_path / "clone"), HOME=str(tmp_path)
        )

    assert done == 0, said
    assert (tmp_path / "clone" / "file").read_text() == "hello\n"


async def test_apt_reads_its_lists(way_out: WayOut, tmp_path: Path) -> None:
    web, root = tmp_path / "web", tmp_path / "apt"
    for directory in (
        web,
        root / "lists" / "partial",
        root / "cache" / "archives" / "partial",
        root / "parts",
    ):
        directory.mkdir(parents=True)
    packages = b"Package: greeting\nVersion: 1.0\nArchitecture: all\nFilename: ./greeting.deb\nSize: 1\n\n"

    (web / "Packages").write_bytes(packages)
    line = f" {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages\n"
    (web / "Release").write_text(f"Date: Sat, 01 Jan 2022 00:00:00 UTC\nSHA256:\n{line}")
    (root / "sources.list").write_text(f"deb [trusted=yes] http://{HOST}/ ./\n")
    (root / "status").touch()
    options = {
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": root / "parts",
        "Dir::Etc::parts": root / "parts",
        "Dir::Etc::main": "/dev/null",
        "Dir::State::lists": root / "lists",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "root",
    }
    given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    async with way_out.site(HOST, files_in(web), tls=False) as site:
        done, said = await way_out.run("apt-get", *given, "update")
        _, known = await way_out.run("apt-cache", *given, "policy", "greeting")

    assert done == 0, said
    assert "Candidate: 1.0" in known
    assert ("GET", HOST, "/./Packages") in site.seen
