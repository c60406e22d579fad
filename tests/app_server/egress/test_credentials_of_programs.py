"""Tests of package managers and git that call private hosts: the proxy adds the credentials, and the
programs never see them.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app_server.core.encryption import load_cipher
from app_server.egress.tls.authority import load_authority
from tests.app_server.conftest import App
from tests.app_server.egress.conftest import WayOut
from tests.app_server.egress.credential_calls import HOST, TOKEN, give
from tests.support.packages import files_in, made_npm_package, made_wheel

pytestmark = pytest.mark.low_ports


async def test_pip_installs_from_a_private_index(
    way_out: WayOut, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    await give(client, kind="basic", username="__token__")
    made_wheel(tmp_path / "web")
    async with way_out.site(HOST, files_in(tmp_path / "web")) as site:
        done, said = await way_out.run_as_agents(
            *(sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir"),
            *("install", "--no-deps", "--target", str(tmp_path / "installed")),
            *("--index-url", f"https://{HOST}/simple", "greeting"),
        )

    assert done == 0, said
    assert (tmp_path / "installed" / "greeting.py").exists()
    assert all(sent["authorization"].startswith("Basic ") for sent in site.headers)
    assert TOKEN not in said


async def test_npm_installs_from_a_private_registry(
    way_out: WayOut, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    await give(client)
    web, project = tmp_path / "web", tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    made_npm_package(web, HOST)
    async with way_out.site(HOST, files_in(web)) as site:
        done, said = await way_out.run_as_agents(
            *("npm", "--prefix", str(project), "install", "greeting", "--no-audit", "--no-fund"),
            HOME=str(tmp_path),
            npm_config_registry=f"https://{HOST}/",
            npm_config_cache=str(tmp_path / "cache"),
        )

    assert done == 0, said
    assert (project / "node_modules" / "greeting" / "package.json").exists()
    assert {sent["authorization"] for sent in site.headers} == {f"Bearer {TOKEN}"}


async def test_git_and_python_trust_it(way_out: WayOut, client: httpx.AsyncClient, tmp_path: Path) -> None:
    await give(client)
    script = "git init -q --bare shop.git && cd shop.git && git update-server-info"
    (tmp_path / "web").mkdir()
    await asyncio.to_thread(subprocess.run, ["bash", "-c", script], cwd=tmp_path / "web", check=True)
    programs = {
        "git": ("git", "ls-remote", f"https://{HOST}/shop.git"),
        "httpx": (
            sys.executable,
            "-c",
            f"import httpx; httpx.get('https://{HOST}/shop.git/HEAD').raise_for_status()",
        ),
        "urllib": (
            sys.executable,
            "-c",
            f"from urllib.request import *; urlopen('https://{HOST}/shop.git/HEAD')",
        ),
    }
    async with way_out.site(HOST, files_in(tmp_path / "web")) as site:
        for name, command in programs.items():
            done, said = await way_out.run_as_agents(*command, HOME=str(tmp_path))
            assert done == 0, f"{name}: {said}"

    assert {sent["authorization"] for sent in site.headers} == {f"Bearer {TOKEN}"}


async def test_apt_reads_private_lists(way_out: WayOut, client: httpx.AsyncClient, tmp_path: Path) -> None:
    await give(client, kind="basic", username="me")
    (tmp_path / "file").write_text("hello")
    async with way_out.site(HOST, files_in(tmp_path)) as site:
        done, said = await way_out.run_as_agents(
            *("/usr/lib/apt/apt-helper", "-o", "APT::Sandbox::User=root", "download-file"),
            *(f"https://{HOST}/file", str(tmp_path / "fetched")),
        )

    assert done == 0, said
    assert (tmp_path / "fetched").read_text() == "hello"
    assert site.headers[0]["authorization"].startswith("Basic ")


async def test_the_authoritys_key_is_kept_encrypted_and_stays(app: App) -> None:
    files = sorted(app.config.home.glob("egress-authority.*"))
    before = [file.read_bytes() for file in files]
    load_authority(app.config, load_cipher(app.config))

    assert [file.name for file in files] == ["egress-authority.crt", "egress-authority.key"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert b"PRIVATE" not in b"".join(before)
    assert [file.read_bytes() for file in files] == before
