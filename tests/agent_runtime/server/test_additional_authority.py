"""Commands of the agent trust one additional certificate authority besides the usual ones."""

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_runtime.server.outgoing.authority_trust import trust
from agent_runtime.workspace.environment import command_environment, set_trusted
from tests.support.outside import Authority
from tests.support.requirements import OWN_MOUNTS

FULL_DISK = """
import pathlib, sys
from agent_runtime.server.outgoing.authority_trust import trust
from agent_runtime.workspace.environment import command_environment
disk, before, later = map(pathlib.Path, sys.argv[1:])
trust(disk, before.read_bytes())
with (disk / "filler").open("wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(4096))
    except OSError:
        pass
trust(disk, before.read_bytes())
print("SSL_CERT_FILE" in command_environment())
trust(disk, later.read_bytes())
"""


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    yield Authority(tmp_path)
    set_trusted({})


@pytest.mark.parametrize("is_named", [True, False])
def test_commands_trust_the_authority_and_those_they_trusted_before(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    before = ssl.create_default_context()
    if is_named:
        (tmp_path / "company").mkdir()
        company = Authority(tmp_path / "company").file
        monkeypatch.setenv("SSL_CERT_FILE", str(company))
        before = ssl.create_default_context(cafile=str(company))
    for _ in range(2):  # the second time is like a restart
        trust(tmp_path / "conversations", authority.file.read_bytes())
    environment = command_environment()
    believed = ssl.create_default_context(cafile=environment["SSL_CERT_FILE"])

    ours = ssl.create_default_context(cafile=str(authority.file)).get_ca_certs(binary_form=True)
    known = set(believed.get_ca_certs(binary_form=True))
    assert known >= set(ours)
    if is_named:
        assert known == {*ours, *before.get_ca_certs(binary_form=True)}
    assert len(known) > 1
    assert {environment[name] for name in ("PIP_CERT", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS")} == {
        environment["SSL_CERT_FILE"]
    }
    assert environment["SSL_CERT_FILE"] in Path(environment["APT_CONFIG"]).read_text()


@pytest.mark.namespaces
def test_a_full_disk_keeps_neither_what_is_there_from_use_nor_the_server_from_starting(
    authority: Authority, tmp_path: Path
) -> None:
    disk, later = tmp_path / "disk", tmp_path / "later"
    disk.mkdir()
    later.mkdir()
    files = [str(authority.file), str(Authority(later).file)]
    mounted = [*OWN_MOUNTS, "sh", "-c", 'mount -t tmpfs -o size=2m none "$0" && exec "$@"', str(disk)]
    program = [sys.executable, "-c", FULL_DISK, str(disk), *files]

    done = subprocess.run([*mounted, *program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "True"
    assert "the disk is full" in done.stderr
