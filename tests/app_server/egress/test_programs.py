"""Tests of programs that agents use every day: they reach registries, which the tests serve, through the
proxy.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app_server.egress.conftest import WayOut
from tests.support.packages import APT_FOLDERS, apt_options, files_in, made_deb, made_npm_package, made_wheel

pytestmark = pytest.mark.low_ports

HOST = "packages.allowed.test"


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
    made_deb(web, tmp_path / "greeting")
    for folder in APT_FOLDERS:
        (root / folder).mkdir(parents=True)
    (root / "sources.list").write_text(f"deb [trusted=yes] http://{HOST}/ ./\n")
    (root / "status").touch()
    given = apt_options(str(root), {"APT::Sandbox::User": "root"})
    async with way_out.site(HOST, files_in(web), tls=False) as site:
        done, said = await way_out.run("apt-get", *given, "update")
        _, known = await way_out.run("apt-cache", *given, "policy", "greeting")

    assert done == 0, said
    assert "Candidate: 1.0" in known
    assert ("GET", HOST, "/./Packages") in site.seen
