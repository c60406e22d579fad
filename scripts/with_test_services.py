"""Runs a command with a private PostgreSQL and a private Redis, if they are installed: `with_test_services.py
pytest …`.

The data of both services are in a temporary directory. The services end when the command ends. If a service
is not installed, the command runs without it. Tests that need the service are then skipped with a message, or
fail if SLIPWAY_TEST_REQUIRE=all is set.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

START_TIMEOUT_SECONDS = 60.0


def main() -> int:
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slipway-services-")))
        # The servers run as other users, who must be able to reach their directories.
        home.chmod(0o755)
        environment = dict(os.environ)
        if "SLIPWAY_TEST_POSTGRES_URL" not in environment and (binaries := _postgres_binaries()):
            environment["SLIPWAY_TEST_POSTGRES_URL"] = stack.enter_context(
                _postgres(binaries, home / "postgres")
            )
        if "SLIPWAY_TEST_REDIS_URL" not in environment and (redis := shutil.which("redis-server")):
            environment["SLIPWAY_TEST_REDIS_URL"] = stack.enter_context(_redis(redis, home / "redis"))
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode


def _postgres_binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextlib.contextmanager
def _postgres(binaries: Path, data: Path) -> Iterator[str]:
    # PostgreSQL refuses to run as root; its package brings a user of its own.
    user = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    data.mkdir()
    os.chown(data, user.pw_uid, user.pw_gid)
    port = _free_port()
    as_user = {"user": user.pw_uid, "group": user.pw_gid} if os.geteuid() == 0 else {}
    initdb = [
        str(binaries / "initdb"),
        "-D",
        str(data),
        "-U",
        "slipway",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
    ]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=data, **as_user)
    options = [
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        str(data),
        "-c",
        "fsync=off",
        "-c",
        "max_connections=200",
    ]
    with _running([str(binaries / "postgres"), "-D", str(data), *options], port, cwd=data, **as_user):
        yield f"postgresql+asyncpg://slipway@127.0.0.1:{port}/postgres"


@contextlib.contextmanager
def _redis(binary: str, data: Path) -> Iterator[str]:
    data.mkdir()
    port = _free_port()
    with _running(
        [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(data)], port
    ):
        yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def _running(command: list[str], port: int, **options: object) -> Iterator[None]:
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **options)  # type: ignore[call-overload]
        try:
            _wait_for_port(process, port, command[0])
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_for_port(process: "subprocess.Popen[bytes]", port: int, name: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{name} ended at once with exit code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    sys.exit(f"{name} did not open port {port} within {START_TIMEOUT_SECONDS:.0f} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
