"""The image that sandboxes start from: ours, built where it runs, named by its content."""

import asyncio
import hashlib
import io
import os
import shutil
import signal
import tarfile
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO

from app_server.errors import StartFailure
from app_server.sandboxes.backend import Report

BASE_IMAGE = "debian:bookworm-slim"
REPOSITORY = "slipway-sandbox"
DOCKERFILE = "containers/sandbox/Dockerfile"
PULL_TIMEOUT_SECONDS = 600.0
BUILD_TIMEOUT_SECONDS = 3600.0
KEPT_LINES = 60
MAX_LINE_BYTES = 1024**2

_SOURCE = Path(__file__).resolve().parents[2]
_CONTEXT = ("containers/sandbox", "requirements-sandbox.lock", "agent_runtime")

HasImage = Callable[[str], Awaitable[bool]]

# One build at a time in this process: two would only slow each other down.
_building = asyncio.Lock()


async def ensure_image(wanted: str | None, has_image: HasImage, report: Report) -> str:
    """The name of an image that is there. `wanted`: one that must exist; None: our own, built if missing.

    Raises StartFailure `sandbox_image_missing` or `sandbox_image_build_failed`.
    """
    if wanted:
        if not await has_image(wanted):
            raise StartFailure(
                "sandbox_image_missing",
                f"The sandbox image {wanted} is not on this machine.",
                fix=f"Run `docker pull {wanted}`, or unset SLIPWAY_SANDBOX_IMAGE to have one built.",
            )
        return wanted
    tag = await asyncio.to_thread(_tag)
    if await has_image(tag):
        return tag
    if _building.locked():
        report("Waiting for the image build that runs already")
    async with _building:
        if not await has_image(tag):
            await _build(tag, has_image, report)
    return tag


def image_name(wanted: str | None) -> str:
    """What `ensure_image` would return. Blocking: reads the source once."""
    return wanted or _tag()


async def _build(tag: str, has_image: HasImage, report: Report) -> None:
    docker = shutil.which("docker")
    if docker is None:
        raise _build_failed("The docker command is not installed.", fix="Install the Docker CLI, then retry.")
    if not await has_image(BASE_IMAGE):
        await _get_base(docker, report)
    report(f"Building the sandbox image {tag} (once per version, a few minutes)")
    environment = {"DOCKER_BUILDKIT": "1" if await _has_buildx(docker) else "0", "BUILDKIT_PROGRESS": "plain"}
    command = [
        docker,
        "build",
        "--tag",
        tag,
        "--file",
        DOCKERFILE,
        "--build-arg",
        f"BASE_IMAGE={BASE_IMAGE}",
        "-",
    ]
    context = await asyncio.to_thread(build_context)
    status, output = await _run(
        command, report, BUILD_TIMEOUT_SECONDS, stdin=context, environment=environment
    )
    if status != 0:
        raise _build_failed(
            "Building the sandbox image failed.",
            fix="Read the output; retry the start when its cause is gone.",
            output=output,
        )


async def _get_base(docker: str, report: Report) -> None:
    report(f"Pulling the base image {BASE_IMAGE}")
    status, output = await _run([docker, "pull", BASE_IMAGE], report, PULL_TIMEOUT_SECONDS)
    if status == 0:
        return
    script = _SOURCE / "containers/base/build.sh"
    if os.geteuid() == 0 and shutil.which("debootstrap") and script.exists():
        report(f"No registry answers: making {BASE_IMAGE} with debootstrap")
        environment = {"DOCKER": docker}
        status, output = await _run(
            [str(script), BASE_IMAGE], report, PULL_TIMEOUT_SECONDS, environment=environment
        )
    if status != 0:
        raise _build_failed(
            f"The base image {BASE_IMAGE} is not on this machine and could not be pulled.",
            fix=f"Give this machine access to an image registry, or make the image without one: install "
            f"debootstrap and run `containers/base/build.sh {BASE_IMAGE}` as root.",
            output=output,
        )


async def _has_buildx(docker: str) -> bool:
    # Newer CLIs build with BuildKit only through this plugin; without it they refuse to.
    status, _ = await _run([docker, "buildx", "version"], lambda _line: None, 30)
    return status == 0


async def _run(
    command: list[str],
    report: Report,
    timeout_seconds: float,
    *,
    stdin: bytes = b"",
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """`(exit status, last lines)` of a command; its lines go to `report` as they come. 124: timed out."""
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    # From a file, not through a pipe: a program that ends without reading it is no error of ours.
    with await asyncio.to_thread(_file_with, stdin) as source:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **(environment or {})},
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    try:
        async with asyncio.timeout(timeout_seconds):
            assert process.stdout
            async for raw in process.stdout:
                if line := raw.decode(errors="replace").rstrip():
                    lines.append(line)
                    report(line)
            return await process.wait(), "\n".join(lines)
    except TimeoutError:
        lines.append(f"(ended after {timeout_seconds:g} seconds)")
        return 124, "\n".join(lines)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _file_with(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(content)
    file.seek(0)
    return file


def _build_failed(cause: str, *, fix: str, output: str = "") -> StartFailure:
    return StartFailure("sandbox_image_build_failed", cause, fix=fix, output=output)


@lru_cache(maxsize=1)
def _tag() -> str:
    """The same for the same content; read once, like the code that runs."""
    digest = hashlib.sha256(BASE_IMAGE.encode())
    for path in _context_files():
        content = path.read_bytes()
        digest.update(f"\0{path.relative_to(_SOURCE)}\0{len(content)}\0".encode() + content)
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def build_context() -> bytes:
    """A tar of what the image is made from, and nothing else."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in _context_files():
            # No owners, no times: equal content is an equal context.
            member = tarfile.TarInfo(str(path.relative_to(_SOURCE)))
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)
    return buffer.getvalue()


def _context_files() -> Iterator[Path]:
    if not (_SOURCE / DOCKERFILE).exists():
        raise _build_failed(
            "This installation has no build files for the sandbox image.",
            fix="Run Slipway from its source tree, or name a ready image in SLIPWAY_SANDBOX_IMAGE.",
        )
    for part in _CONTEXT:
        root = _SOURCE / part
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
