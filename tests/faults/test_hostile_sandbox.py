"""Attacks of a hostile agent from a container. Further attacks are in tests/app_server/sandboxes.

After each attack the sandbox, the app server and the Docker engine must answer as before.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app_server.sandbox_backends.docker.network import NETWORK
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.server import AppServerProcess, Json, start_task, wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

MEBIBYTE = 1024**2
LIMITS = {
    "SLIPWAY_SANDBOX_MEMORY_BYTES": str(1024 * MEBIBYTE),
    "SLIPWAY_SANDBOX_PIDS": "200",
    "SLIPWAY_SANDBOX_DISK_BYTES": str(256 * MEBIBYTE),
}
OPENINGS = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def reached(place):
    address, port = place.rsplit(":", 1)
    try:
        socket.create_connection((address, int(port)), timeout=1).close()
    except OSError:
        return None
    return place
with ThreadPoolExecutor(32) as threads:
    print(*filter(None, threads.map(reached, sys.argv[1:])))
"""
MANY_FILES = """
count = 0
try:
    while True:
        open(f"many/{count}", "w").close()
        count += 1
except OSError as error:
    print(count, error.strerror)
"""
# Each command is an attempt. The test prints the name of an attempt that succeeds.
PRIVILEGES = {
    "bind mount": "mount --bind /etc /mnt",
    "proc mount": "mount -t proc proc /mnt",
    "disk mount": "mount /dev/vda /mnt",
    "device": "mknod /tmp/disk b 254 0",
    "root": '[ "$(sudo -n id -u)" = 0 ] || su -c true',
    "other root": "chroot / true",
    "namespace of the first process": "nsenter --target 1 --mount true",
    "user namespace": "unshare --user true",
    "core pattern": "echo '|/tmp/x' > /proc/sys/kernel/core_pattern",
    "system requests": "echo h > /proc/sysrq-trigger",
    "cgroup": "echo 1 > /sys/fs/cgroup/memory/memory.force_empty || mkdir /sys/fs/cgroup/x",
    "release agent": "echo /tmp/x > /sys/fs/cgroup/memory/release_agent",
    "kernel memory": "head -c 1 /proc/kcore | grep -q . ",
    "kernel log": "dmesg",
    "engine": "test -e /var/run/docker.sock -o -e /run/docker.sock -o -e /run/containerd",
    "clock": "date --set 2001-01-01",
    "host name": "hostname else",
}


@dataclass(frozen=True)
class Hostile:
    """A sandbox with a hostile agent. The tests run the agent's commands in it."""

    server: AppServerProcess
    client: httpx.Client
    id: str

    @property
    def container(self) -> str:
        return f"slipway-sandbox-{self.id}"

    def run(self, command: str, seconds: int = 100) -> Json:
        body = {"command": command, "timeout": seconds}
        url = f"/app-conversations/{self.id}/execute-bash-command"
        reply = self.client.post(url, json=body, timeout=seconds + 20)
        output: Json = reply.raise_for_status().json()
        return output

    def says(self, command: str) -> str:
        return str(self.run(command)["stdout"] or "").strip()

    def answers(self) -> bool:
        try:
            return str(self.run("echo alive", 10)["stdout"]).strip() == "alive"
        except httpx.HTTPError:
            return False


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    sandbox_image()
    home = tmp_path_factory.mktemp("hostile") / "home"
    with AppServerProcess(home, sandbox="docker", environment=LIMITS) as server, server.client() as client:
        started = client.post("/app-conversations", json={"llm_profile": "demo"}).raise_for_status()
        conversation_id = str(started.json()["id"])
        wait_until(
            lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
            lambda: str(start_task(client, conversation_id)),
        )
        assert start_task(client, conversation_id)["status"] == "READY"
        yield Hostile(server, client, conversation_id)


@pytest.fixture(autouse=True)
def unharmed(sandbox: Hostile) -> Iterator[None]:
    yield
    assert sandbox.answers()
    subprocess.run(["docker", "ps"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)


def test_a_memory_bomb_ends_alone(sandbox: Hostile) -> None:
    output = sandbox.run("python3 -c 'x = bytearray(2**31); x[::4096] = b\"x\" * 2**19'")

    assert output["exit_code"] == 137


def test_what_fills_temporary_and_home_directories_ends_at_their_limit(sandbox: Hostile) -> None:
    for place in ("/tmp", "~"):  # noqa: S108 (the sandbox's own)
        filler = f"{place}/filler"
        output = sandbox.run(f"head -c 2G /dev/zero > {filler}; stat -c %s {filler}; rm {filler}")

        assert "No space left on device" in output["stderr"]
        assert int(output["stdout"]) <= 512 * MEBIBYTE


def test_more_files_than_a_workspace_can_name_are_refused(sandbox: Hostile) -> None:
    count, _, reason = sandbox.says(f"mkdir many; python3 -c '{MANY_FILES}'; rm -rf many").partition(" ")

    assert 1_000 < int(count) < 100_000
    assert reason == "No space left on device"


def test_a_full_workspace_comes_back_after_its_container_was_killed(sandbox: Hostile) -> None:
    filled = sandbox.run("cat /dev/zero > filler; cat /dev/zero >> filler2")
    subprocess.run(["docker", "kill", sandbox.container], check=True, capture_output=True)
    wait_until(sandbox.answers, lambda: f"the sandbox to be revived: {sandbox.server.output()}")

    assert "No space left on device" in filled["stderr"]
    assert sandbox.says("rm filler filler2; echo room > file; cat file") == "room"


def test_output_without_end_is_cut_off(sandbox: Hostile) -> None:
    output = sandbox.run("yes 'a line that means nothing at all' | head -c 200000000")

    assert output["exit_code"] == 0
    assert len(output["stdout"]) < 10 * MEBIBYTE


def test_of_all_that_this_machine_listens_on_only_inner_listeners_answer(sandbox: Hostile) -> None:
    gateway = printed(
        "docker", "network", "inspect", NETWORK, "--format", "{{(index .IPAM.Config 0).Gateway}}"
    )
    own = [address for address in printed("hostname", "-I").split() if ":" not in address]
    # Servers of other tests start and end meanwhile, so the rules are read before and after.
    admitted = admitted_ports(gateway)
    places = [f"{address}:{port}" for address in {gateway, *own} for port in listening_ports()]
    seen = sandbox.says(f"python3 -c '{OPENINGS}' {' '.join(places)}").split()
    admitted |= admitted_ports(gateway)

    assert f"{gateway}:{sandbox.server.inner_port}" in seen
    assert set(seen) <= admitted
    assert f"{gateway}:{sandbox.server.port}" in places


def admitted_ports(gateway: str) -> set[str]:
    """Returns the addresses (`IP:port`) that the firewall opens to sandboxes now."""
    rules = printed("iptables", "-w", "10", "-S", "SLIPWAY")
    return {f"{gateway}:{port}" for port in re.findall(rf"-d {gateway}/32 .*--dport (\d+) ", rules)}


def test_what_answers_this_machine_at_a_link_local_address_answers_no_sandbox(sandbox: Hostile) -> None:
    """Clouds serve the keys of their machines at a link-local address. Here a container in another network
    serves it.
    """
    with beside(sandbox) as place:
        wait_until(lambda: is_served(place), lambda: f"{place} to answer")

        assert sandbox.says(f"python3 -c '{OPENINGS}' {place}") == ""


def test_nothing_of_the_app_server_is_in_reach(sandbox: Hostile) -> None:
    names = ("slipway.sqlite3", "encryption.key", "server.json")
    searched = " -o ".join(f"-name {name}" for name in names)
    found = sandbox.says(f"find / \\( {searched} \\) 2>/dev/null; true")

    assert all((sandbox.server.home / name).exists() for name in names)
    assert found == ""


def test_no_privilege_is_granted(sandbox: Hostile) -> None:
    attempts = [f"( {attempt} ) >/dev/null 2>&1 && echo {name}" for name, attempt in PRIVILEGES.items()]

    assert sandbox.says("\n".join([*attempts, "true"])) == ""


def test_links_out_of_the_workspace_lead_to_nothing_of_this_machine(sandbox: Hostile, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("the-canary")
    sandbox.says(f"ln -s {canary} file; ln -s / root; git add -A; git commit -qm x; ln -sf {canary} other")
    paths = ("file", "other", f"root{canary}", f"../../../../..{canary}", str(canary))
    routes = [
        *(f"git/diff?path={path}" for path in paths),
        *(f"file?file_path={path}" for path in paths),
        *(f"file/download?path={path}" for path in paths),
        "directory?path=root",
        "git/changes",
        "git/patch",
    ]
    replies = [sandbox.client.get(f"/app-conversations/{sandbox.id}/{route}") for route in routes]

    assert all(reply.status_code < 500 for reply in replies), [reply.text for reply in replies]
    assert not [reply.url for reply in replies if canary.read_text() in reply.text]


@contextmanager
def beside(sandbox: Hostile) -> Iterator[str]:
    """Runs a web server in another Docker network and yields its address. Only this machine can reach it."""
    name = f"slipway-test-{sandbox.id}"
    printed("docker", "network", "create", "--subnet", "169.254.77.0/24", name)
    try:
        run = ("docker", "run", "--detach", "--network", name, "--name", name, "--entrypoint", "python3")
        printed(*run, sandbox_image(), "-m", "http.server", "8000")
        try:
            yield "169.254.77.2:8000"
        finally:
            printed("docker", "rm", "--force", name)
    finally:
        printed("docker", "network", "rm", name)


def is_served(place: str) -> bool:
    try:
        return httpx.get(f"http://{place}/", trust_env=False).is_success
    except httpx.TransportError:
        return False


def printed(*command: str) -> str:
    return subprocess.check_output(command, text=True).strip()


def listening_ports() -> set[int]:
    """Returns the TCP ports on which this machine listens, on any address."""
    tables = [Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    return {int(fields[1].rpartition(":")[2], 16) for fields in lines if fields[3] == "0A"}
